import { must } from '@gantry/base';
import { createGrpcClient, createHttpClient, type ObjectClient, parseKubeconfig } from '@gantry/client';
import { describeObjectClient } from '@gantry/client/testing';
import { findResource } from '@gantry/kinds';
import { CONFIG_MAPS, type Deployment, DEPLOYMENTS } from '@gantry/objects';
import { fixedTls } from '@gantry/tls';
import { expect, it, vi } from 'vitest';
import { startApiServer } from '../../testing/start-api-server.ts';

describeObjectClient('the gRPC client of an API server', async () => {
  const server = await startApiServer();
  const client = createGrpcClient({
    addresses: [`localhost:${server.grpcPort}`],
    tls: fixedTls(server.admin),
    fieldManager: 'contract',
  });
  const close = async (): Promise<void> => {
    client[Symbol.dispose]();
    await server.stop();
  };
  return { client, namespace: 'default', leaseFences: 'not-sent', close };
});

describeObjectClient('the HTTPS client of an API server', async () => {
  const server = await startApiServer();
  const client = createHttpClient({ ...parseKubeconfig(server.kubeconfig), fieldManager: 'contract' });
  const close = async (): Promise<void> => {
    client[Symbol.dispose]();
    await server.stop();
  };
  return { client, namespace: 'default', close };
});

it('looks for warnings about an object only for a client that gets them', async () => {
  const server = await startApiServer();
  const { signal } = new AbortController();
  using rest = createHttpClient({ ...parseKubeconfig(server.kubeconfig), fieldManager: 'test' });
  using grpc = createGrpcClient({
    addresses: [`localhost:${server.grpcPort}`],
    tls: fixedTls(server.admin),
    fieldManager: 'test',
  });
  const warnings = vi.spyOn(must(findResource(DEPLOYMENTS), 'deployments').strategy, 'warnings');
  const deployment = (name: string): Deployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  const write = async (client: ObjectClient, name: string) => {
    const { metadata } = await client.create(DEPLOYMENTS, deployment(name), signal);
    const labelled = { ...metadata, labels: { changed: 'yes' } };
    await client.update(DEPLOYMENTS, { ...deployment(name), metadata: labelled }, signal);
  };
  await write(grpc, 'a');
  expect(warnings).not.toHaveBeenCalled();
  await write(rest, 'b');
  expect(warnings).toHaveBeenCalledTimes(2);
  await server.stop();
});

it('the HTTPS client refuses responses and events that are larger than its limit', async () => {
  const server = await startApiServer();
  using client = createHttpClient({ ...parseKubeconfig(server.kubeconfig), maxResponseBytes: 100 });
  const { signal } = new AbortController();
  await expect(client.list(CONFIG_MAPS, {}, signal)).rejects.toThrow("the server's response has more than 100 bytes");
  const events = client.watch(CONFIG_MAPS, { sendInitialEvents: true }, signal)[Symbol.asyncIterator]();
  expect(await events.next()).toMatchObject({ value: [] });
  await expect(events.next()).rejects.toThrow("the server's event has more than 100 bytes");
  await server.stop();
});

import { createGrpcClient, createHttpClient, parseKubeconfig } from '@gantry/client';
import { describeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS } from '@gantry/objects';
import { fixedTls } from '@gantry/tls';
import { expect, it } from 'vitest';
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
  return { client, namespace: 'default', close };
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

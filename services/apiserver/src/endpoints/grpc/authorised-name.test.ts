import { createGrpcClient, type ObjectWrite } from '@gantry/client';
import { CONFIG_MAPS, type KubeObject } from '@gantry/objects';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApiServer, type TestApiServer } from '../../testing/start-api-server.ts';

describe('a write over gRPC whose object is not the one that it names', () => {
  let server: TestApiServer;
  let client: ReturnType<typeof createGrpcClient>;
  const signal = new AbortController().signal;
  const create = (name: string, object: Partial<KubeObject>): ObjectWrite => {
    const whole = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, ...object };
    return { verb: 'create', resource: CONFIG_MAPS, namespace: 'default', name, object: whole };
  };

  beforeAll(async () => {
    server = await startApiServer();
    client = createGrpcClient({
      addresses: [`localhost:${server.grpcPort}`],
      tls: fixedTls(server.admin),
      fieldManager: 'test',
    });
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await server.stop();
  });

  const mismatch = 'the name of the object (stored) does not match the name on the URL (authorised)';

  it('is refused by its name, alone and in a batch, and stores nothing', async () => {
    const write = create('authorised', { metadata: { name: 'stored' } });
    await expect(client.write(write, signal)).rejects.toMatchObject({ code: 400, message: mismatch });
    const [result] = await client.batch([write], signal);
    expect(result).toMatchObject({ ok: false, status: { code: 400, message: mismatch } });
    const key = { namespace: 'default', name: 'stored' };
    await expect(client.get(CONFIG_MAPS, key, signal)).rejects.toMatchObject({ code: 404 });
  });

  it.each([
    ['a name that the server would generate', create('authorised', { metadata: { generateName: 'stored-' } })],
    ['its namespace', create('stored', { metadata: { name: 'stored', namespace: 'kube-system' } })],
    ['its kind', create('stored', { kind: 'Secret', metadata: { name: 'stored' } })],
    ['its apiVersion', create('stored', { apiVersion: 'v2', metadata: { name: 'stored' } })],
  ])('is refused by %s', async (_, write) => {
    await expect(client.write(write, signal)).rejects.toMatchObject({ code: 400 });
  });

  it('is refused when it is updated or applied', async () => {
    const key = { namespace: 'default', name: 'authorised' };
    const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'stored' } };
    const update = client.write({ verb: 'update', resource: CONFIG_MAPS, key, object }, signal);
    await expect(update).rejects.toMatchObject({ code: 400, message: mismatch });
    const patchType = 'application/apply-patch+yaml';
    const apply = client.write({ verb: 'patch', resource: CONFIG_MAPS, key, patchType, patch: object }, signal);
    await expect(apply).rejects.toMatchObject({ code: 400 });
  });

  it('is refused by its uid', async () => {
    const made = await client.write(create('with-uid', { metadata: { name: 'with-uid' } }), signal);
    const key = { namespace: 'default', name: 'with-uid' };
    const object = { ...made, metadata: { ...made.metadata, uid: '00000000-0000-4000-8000-000000000000' } };
    const update = client.write({ verb: 'update', resource: CONFIG_MAPS, key, object }, signal);
    await expect(update).rejects.toMatchObject({ code: 409 });
  });
});

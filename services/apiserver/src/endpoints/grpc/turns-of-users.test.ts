import { setImmediate as nextRound } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { Activities, systemClock } from '@gantry/base';
import { createGrpcClient, toGrpcFailure } from '@gantry/client';
import { CONFIG_MAPS } from '@gantry/objects';
import { type GetRequest, ObjectReplySchema, ObjectService } from '@gantry/proto';
import { grpcServer, silentLogger, Starts } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { expect, it } from 'vitest';
import { createTestPki } from '../../testing/test-pki.ts';

/** Number of rounds that is more than enough for a call in this process to arrive. */
const ROUNDS = 500;
const never = new AbortController().signal;

it('users take turns with their calls, whatever the number of these', async () => {
  const pki = await createTestPki(systemClock.now());
  const begun: string[] = [];
  /** Milliseconds that pass at each read of the clock: with 0 every round has time left, with 20 none has. */
  let [now, look] = [0, 0];
  const listening = Promise.withResolvers<number>();
  const handle = async ({ name }: GetRequest) => {
    begun.push(name);
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n' } };
    return create(ObjectReplySchema, { object: Buffer.from(JSON.stringify(object)) });
  };
  const server = grpcServer({
    tls: fixedTls(await pki.issue('apiserver', [])),
    address: '127.0.0.1:0',
    services: [{ descriptor: ObjectService, handlers: { get: { kind: 'unary', handle } } }],
    clock: systemClock,
    activities: new Activities(systemClock),
    logger: silentLogger,
    starts: new Starts({ monotonicMs: () => (now += look) }),
    toGrpcError: toGrpcFailure,
    onListening: listening.resolve,
  });
  const stopping = new AbortController();
  const running = server.run(stopping.signal);
  const addresses = [`localhost:${await listening.promise}`];
  const clientOf = async (user: string) =>
    createGrpcClient({ addresses, tls: fixedTls(await pki.issue(user, [])), fieldManager: 'test' });
  using crowd = await clientOf('crowd');
  using node = await clientOf('system:node:n');
  const get = (client: typeof crowd, name: string) => client.get(CONFIG_MAPS, { namespace: 'n', name }, never);
  await Promise.all([get(crowd, 'hello'), get(node, 'hello')]);
  begun.length = 0;

  look = 20;
  const calls = Array.from({ length: 20 }, (_, i) => get(crowd, `crowd-${i}`));
  for (let i = 0; i < ROUNDS; i++) await nextRound();
  calls.push(get(node, 'beat'));
  for (let i = 0; i < ROUNDS; i++) await nextRound();
  expect(begun).toEqual([]);
  look = 0;
  await Promise.all(calls);
  expect(begun.indexOf('beat')).toBeLessThan(2);
  stopping.abort();
  await server.close?.();
  await running;
});

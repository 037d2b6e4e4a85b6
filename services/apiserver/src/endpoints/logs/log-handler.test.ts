import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ManualClock } from '@gantry/base/testing';
import type { Node, Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { allowAll, definitionOf } from '../../registry/testing.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import type { ResourceRoute } from '../request-info.ts';
import { createLogHandler, type LogHandlerDependencies } from './log-handler.ts';

it('reads no more of a log than the client has taken', async () => {
  const pod = {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { nodeName: 'n', containers: [{ name: 'c' }] },
    status: { containerStatuses: [{ name: 'c', containerID: 'docker://x', state: { running: {} } }] },
  } as unknown as Pod;
  const node = { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } } as unknown as Node;
  let read = 0;
  const handle = createLogHandler({
    registry: { get: () => Promise.resolve({ object: pod }) },
    authorizer: allowAll,
    lookup: { get: () => node },
    agents: {
      read: async function* () {
        for (read = 1; read < 10; read++) yield Buffer.alloc(1024 * 1024);
      },
    },
    clock: new ManualClock(),
  } as unknown as LogHandlerDependencies);
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  const stop = new AbortController();
  const exchange = { req, res, method: 'GET', signal: stop.signal, query: new URLSearchParams(), warnings: new Set() };
  const route = { definition: definitionOf('pods'), namespace: 'default', name: 'p' };
  const handled = handle(exchange as unknown as AuthenticatedExchange, route as unknown as ResourceRoute);
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  };
  await turns();
  expect(read).toBe(1);
  res.emit('drain');
  await turns();
  expect(read).toBe(2);
  stop.abort();
  await handled;
});

import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { AgentService, NodeUsageReplySchema } from '@gantry/proto';
import type { GrpcService } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { StatusError } from '@gantry/objects';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type AgentServer, startAgentServer } from '../testing/agent-server.ts';
import { type AgentUsage, createAgentUsage } from './agent-usage.ts';
import { readNodeUsage } from './usage-reply.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

let calls = 0;
let state: 'well' | 'failing';
const agent: GrpcService = {
  descriptor: AgentService,
  handlers: {
    nodeUsage: {
      kind: 'unary',
      handle: async () => {
        calls++;
        if (state === 'failing') throw StatusError.unavailable('not now');
        return create(NodeUsageReplySchema, {
          node: { cpuNanoCores: 5n, memoryBytes: 6n },
          atMs: BigInt(clock.now()),
          windowMs: 10_000n,
          pods: [],
        });
      },
    },
  },
};

/** Stands still, and ahead of the machine's: neither a reply nor a failure becomes old, and no call misses its deadline on a busy machine. */
const clock = new ManualClock(systemClock.now() + HOUR_MS);
let server: AgentServer;
let usage: AgentUsage;

beforeAll(async () => {
  server = await startAgentServer(agent);
});
beforeEach(() => {
  calls = 0;
  state = 'well';
  usage = createAgentUsage(fixedTls(server.client), clock, server.port);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const AGENT = { node: 'node-a', host: '127.0.0.1' };

it('requests share a call and its reply', async () => {
  const [first, second] = await Promise.all([usage.read([AGENT], signal), usage.read([AGENT], signal)]);
  expect(first.get('node-a')?.node).toMatchObject({ cpuNanoCores: 5, memoryBytes: 6 });
  expect(second).toEqual(first);
  await usage.read([AGENT], signal);
  expect(calls).toBe(1);
  usage[Symbol.dispose]();
});

it('an agent whose certificate is made out to another node is not believed, nor does it hold up others', async () => {
  const found = await usage.read([{ node: 'node-b', host: '127.0.0.1' }, AGENT], signal);
  expect([...found.keys()]).toEqual(['node-a']);
  usage[Symbol.dispose]();
});

it('an agent that fails is left out, and not asked again at once', async () => {
  state = 'failing';
  expect((await usage.read([AGENT], signal)).size).toBe(0);
  expect((await usage.read([AGENT], signal)).size).toBe(0);
  expect(calls).toBe(1);
  usage[Symbol.dispose]();
});

it('an agent that does not respond holds no request up for long', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const slow = createAgentUsage(fixedTls(server.client), systemClock, (silent.address() as AddressInfo).port);
  expect((await slow.read([AGENT], signal)).size).toBe(0);
  slow[Symbol.dispose]();
  silent.close();
});

it('an agent that has failed is asked over a new connection after 3 s', async () => {
  let connections = 0;
  const front = createServer((socket) => {
    socket.on('error', () => undefined);
    if (++connections === 1) socket.destroy();
    else socket.pipe(connect(server.port, '127.0.0.1')).pipe(socket);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const asker = createAgentUsage(fixedTls(server.client), clock, (front.address() as AddressInfo).port);
  expect((await asker.read([AGENT], signal)).size).toBe(0);
  await clock.advance(3000);
  // The former connection would wait longer before it connects again.
  expect((await asker.read([AGENT], signal)).size).toBe(1);
  asker[Symbol.dispose]();
  front.close();
});

it.each([
  ['a time that is far off', { atMs: BigInt(NOW + 86_400_000) }],
  ['a time that no date has', { atMs: 2n ** 62n }],
  ['no window', { windowMs: 0n }],
  ['negative usage', { node: { cpuNanoCores: -1n, memoryBytes: 0n } }],
])('%s makes a reply say nothing of the node', (_what, change) => {
  const whole = { node: { cpuNanoCores: 1n, memoryBytes: 1n }, atMs: BigInt(NOW), windowMs: 1000n };
  expect(readNodeUsage(create(NodeUsageReplySchema, whole), NOW).node).toBeDefined();
  expect(readNodeUsage(create(NodeUsageReplySchema, { ...whole, ...change }), NOW).node).toBeUndefined();
});

it('a pod of which a container has no usage is left out', () => {
  const measured = { name: 'a', usage: { cpuNanoCores: 1n, memoryBytes: 1n } };
  const pod = { podUid: 'u', atMs: BigInt(NOW), windowMs: 1000n };
  const of = (containers: readonly object[]) =>
    readNodeUsage(create(NodeUsageReplySchema, { pods: [{ ...pod, containers: [...containers] }] }), NOW).pods.size;
  expect(of([measured])).toBe(1);
  expect(of([measured, { name: 'b' }])).toBe(0);
  expect(of([])).toBe(0);
});

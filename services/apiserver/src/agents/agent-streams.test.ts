import { create } from '@bufbuild/protobuf';
import { systemClock, untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { AgentService, type StreamStart, type StreamTicket, StreamTicketSchema } from '@gantry/proto';
import type { GrpcCall } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentServer, startAgentServer } from '../testing/agent-server.ts';
import { startRelay } from '../testing/relay.ts';
import { createAgentStreams } from './agent-streams.ts';

const NODE = { node: 'node-a', host: '127.0.0.1' };
const never = new AbortController().signal;

let server: AgentServer;
/** Resolves when the agent's call for the pod `mute` has begun. */
let begun: PromiseWithResolvers<GrpcCall>;

/** Gives tickets, except for the pod `mute`. */
async function* openStream({ pod }: StreamStart, call: GrpcCall): AsyncIterable<StreamTicket> {
  if (pod === 'mute') begun.resolve(call);
  else yield create(StreamTicketSchema, { ticket: 'ticket' });
  await untilAborted(call.signal);
}

beforeAll(async () => {
  begun = Promise.withResolvers();
  server = await startAgentServer({
    descriptor: AgentService,
    handlers: { openStream: { kind: 'stream', handle: openStream } },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

it('a stream is lost when its agent freezes, and not while the agent responds', async () => {
  const relay = await startRelay(server.port);
  const liveness = { pingMs: 50, silenceMs: 2000 };
  const streams = createAgentStreams(fixedTls(server.client), systemClock, relay.port, liveness);
  using stream = await streams.open(NODE, { pod: 'web' }, never);
  expect(stream.path).toBe('/streams/ticket');
  await new Promise((resolve) => setImmediate(resolve));
  expect(stream.lost.aborted).toBe(false);
  relay.freeze();
  await untilAborted(stream.lost);
  relay.close();
});

it('a stream is not lost when this process does not run for a while, however long', async () => {
  const liveness = { pingMs: 5, silenceMs: 50 };
  const streams = createAgentStreams(fixedTls(server.client), systemClock, server.port, liveness);
  using stream = await streams.open(NODE, { pod: 'web' }, never);
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  for (let stall = 0; stall < 10; stall++) {
    Atomics.wait(nothing, 0, 0, 3 * liveness.silenceMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(stream.lost.aborted).toBe(false);
});

it('a stream whose bytes arrive is not lost, though its agent answers no pings', async () => {
  const relay = await startRelay(server.port);
  const liveness = { pingMs: 20, silenceMs: 450 };
  const clock = new ManualClock(systemClock.now());
  const streams = createAgentStreams(fixedTls(server.client), clock, relay.port, liveness);
  using stream = await streams.open(NODE, { pod: 'web' }, never);
  relay.freeze();
  for (let look = 0; look < 30; look++) {
    stream.heard();
    await clock.advance(50);
  }
  expect(stream.lost.aborted).toBe(false);
  for (let look = 0; look < 10; look++) await clock.advance(50);
  await untilAborted(stream.lost);
  relay.close();
});

it('a call ends for the agent when its client leaves before there is a ticket', async () => {
  const streams = createAgentStreams(fixedTls(server.client), systemClock, server.port);
  const left = new AbortController();
  const opened = expect(streams.open(NODE, { pod: 'mute' }, left.signal)).rejects.toThrow('CANCELLED');
  const call = await begun.promise;
  left.abort();
  await opened;
  await untilAborted(call.signal);
});

import { create } from '@bufbuild/protobuf';
import { systemClock, untilAborted } from '@gantry/base';
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
  const keepalive = { everyMs: 50, patienceMs: 2000 };
  const streams = createAgentStreams(fixedTls(server.client), systemClock, relay.port, keepalive);
  using stream = await streams.open(NODE, { pod: 'web' }, never);
  expect(stream.path).toBe('/streams/ticket');
  await new Promise((resolve) => setImmediate(resolve));
  expect(stream.lost.aborted).toBe(false);
  relay.freeze();
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

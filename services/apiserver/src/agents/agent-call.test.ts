import { Metadata, status, type ChannelInterface } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { AgentCall, AgentCallError } from './agent-call.ts';

const { signal } = new AbortController();
const METHOD = {
  path: '/gantry.Agent/Exec',
  requestSerialize: (message: Buffer) => message,
  responseDeserialize: (bytes: Buffer) => bytes,
};
/** What waits for its reader: whole messages, of which the last may go beyond 16 KiB. */
const AHEAD_BYTES = 16 * 1024;

type Call = ReturnType<ChannelInterface['createCall']>;
type Listener = Parameters<Call['start']>[1];

/** The channel to an agent that has so many messages of so many bytes, each of which it hands over when it is asked. */
function endlessAgent(count: number, bytes: number) {
  let asked = 0;
  let listener: Listener | undefined;
  const end = (code: status) => listener?.onReceiveStatus({ code, details: 'the end', metadata: new Metadata() });
  const startRead = () => {
    asked += 1;
    const message = Buffer.alloc(bytes, asked % 256);
    queueMicrotask(() => (asked <= count ? listener?.onReceiveMessage(message) : end(status.OK)));
  };
  const call = {
    start: (_metadata: Metadata, receiver: Listener) => {
      listener = receiver;
    },
    startRead,
    cancelWithStatus: (code: status) => end(code),
  };
  return { channel: { createCall: () => call as unknown as Call } as unknown as ChannelInterface, asked: () => asked };
}

/** Until all that follows at once has been done. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it.each([1_024, 64 * 1024])('reads ahead of its reader only so much, in messages of %d bytes', async (bytes) => {
  const { channel, asked } = endlessAgent(1_000, bytes);
  const call = new AgentCall(channel, METHOD, signal);
  const ahead = Math.floor(AHEAD_BYTES / bytes) + 1;
  await settled();
  expect(asked()).toBe(0);
  for (let read = 1; read <= 100; read++) {
    expect((await call.next())?.[0]).toBe(read % 256);
    await settled();
    expect(asked() - read).toBeLessThanOrEqual(ahead);
  }
});

it('hands over all messages in their order, and then the end', async () => {
  const call = new AgentCall(endlessAgent(1_000, 100).channel, METHOD, signal);
  for (let read = 1; read <= 1_000; read++) expect((await call.next())?.[0]).toBe(read % 256);
  expect(await call.next()).toBeUndefined();
});

it('ends for its reader when it is cancelled, with what has come before', async () => {
  const abort = new AbortController();
  const call = new AgentCall(endlessAgent(1_000, 1_024).channel, METHOD, abort.signal);
  await call.next();
  await settled();
  abort.abort();
  const rest = async () => {
    for (let read = 2; ; read++) expect((await call.next())?.[0]).toBe(read);
  };
  await expect(rest()).rejects.toThrow(AgentCallError);
});

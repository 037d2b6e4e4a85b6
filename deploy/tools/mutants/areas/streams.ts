import type { Mutant } from '../mutant.ts';

const SRC = 'services/apiserver/src';
const STREAMS = `${SRC}/streams`;
const OVER_SERVER = `${SRC}/testing/streams`;
const EXEC_TESTS = [`${OVER_SERVER}/exec.test.ts`];
const REFUSAL_TESTS = [`${OVER_SERVER}/refused-streams.test.ts`];
const READER_TESTS = ['proto/src/message-reader.test.ts'];
const CHANNEL_TESTS = [`${SRC}/agents/agent-channel.test.ts`];
const CONNECTION_TESTS = [`${STREAMS}/spdy/spdy-connection.test.ts`];

/** Exec, attach and port-forward: rights, limits, back-pressure, and the end of what was begun. */
export const STREAM_MUTANTS: readonly Mutant[] = [
  {
    name: 'the right to read is enough to run commands',
    file: `${SRC}/registry/create-registry.ts`,
    text: "if (!isProxy(target) && verb !== 'create') deps.authorizer.authorize(context, 'create', target, undefined);",
    replacement: '',
    tests: REFUSAL_TESTS,
    protects: 'containers, from users who may only read: a WebSocket begins with GET',
  },
  {
    name: 'commands over WebSockets are not audited',
    file: `${SRC}/endpoints/router/http-endpoint.ts`,
    text: 'if (isRead && !audit.concernsReads && !isStream(about.found)) return UNLOGGED;',
    replacement: 'if (isRead && !audit.concernsReads) return UNLOGGED;',
    tests: REFUSAL_TESTS,
    protects: 'the audit log: most commands begin with GET',
  },
  {
    name: 'a process goes on when its client has gone',
    file: `${SRC}/endpoints/streams/serve-command.ts`,
    text: "streams.ended.addEventListener('abort', stop, { once: true });",
    replacement: '',
    tests: EXEC_TESTS,
    protects: 'nodes, from processes that were left behind',
  },
  {
    name: 'a forwarded connection stays when its client resets it',
    file: `${SRC}/endpoints/streams/forward-ports.ts`,
    text: "data.once('close', stop);",
    replacement: '',
    tests: [`${OVER_SERVER}/port-forward.test.ts`],
    protects: 'kubectl, which waits for the end of the error stream',
  },
  {
    name: 'a client of a silent log waits for its first line',
    file: 'services/agent/src/logs/log-service.ts',
    text: 'yield NOTHING_YET;',
    replacement: '',
    tests: ['services/agent/src/logs/log-service.test.ts'],
    protects: 'clients that follow a log: they learn at once that it is there',
  },
  {
    name: 'a control frame may have any size',
    file: `${STREAMS}/spdy/frames.ts`,
    text: 'if (length > this.#maxControlBytes) throw',
    replacement: 'if (length < 0) throw',
    tests: [`${STREAMS}/spdy/frames.test.ts`],
    protects: 'memory: a control frame is held until it is complete',
  },
  {
    name: 'headers may unpack to any size',
    file: `${STREAMS}/spdy/header-blocks.ts`,
    text: 'if (this.#size > this.#maxBytes)',
    replacement: 'if (this.#size < 0)',
    tests: [`${STREAMS}/spdy/header-blocks.test.ts`],
    protects: 'memory: zlib unpacks a byte to a thousand',
  },
  {
    name: 'a connection may hold any number of streams',
    file: `${STREAMS}/spdy/spdy-connection.ts`,
    text: "if (this.#state === 'closing' || this.#streams.size >= this.#limits.maxStreams)",
    replacement: "if (this.#state === 'closing')",
    tests: CONNECTION_TESTS,
    protects: 'memory: each stream has buffers',
  },
  {
    name: 'a stream that is not read is read on',
    file: `${STREAMS}/spdy/spdy-stream.ts`,
    text: 'if (this.push(data)) return undefined;',
    replacement: 'if (this.push(data) || data.length > 0) return undefined;',
    tests: CONNECTION_TESTS,
    protects: 'memory, from clients that send faster than a process reads',
  },
  {
    name: 'a channel that is not read is read on',
    file: `${STREAMS}/websocket/channel-connection.ts`,
    text: 'this.#socket.pause();',
    replacement: '',
    tests: EXEC_TESTS,
    protects: 'memory, from clients that send faster than a process reads',
  },
  {
    name: 'a client may take for ever to open its streams',
    file: `${STREAMS}/spdy-command.ts`,
    text: "const cancel = clock.setTimer(STREAM_CREATION_MS, () => resolve('incomplete'));",
    replacement: 'const cancel = (): void => undefined;',
    tests: [`${STREAMS}/commands.test.ts`],
    protects: 'connections and processes, from clients that begin and do nothing',
  },
  {
    name: 'a message between agents and API servers may have any length',
    file: 'proto/src/message-reader.ts',
    text: 'if (length > this.#maxBytes) {',
    replacement: 'if (length < 0) {',
    tests: READER_TESTS,
    protects: 'memory: a message that is no part of bytes is held as a whole',
  },
  {
    name: 'a part of one byte counts for one byte',
    file: 'proto/src/message-reader.ts',
    text: 'this.#waitingBytes += MESSAGE_BYTES;',
    replacement: '',
    tests: READER_TESTS,
    protects: 'API servers, from containers that write a byte to each output in turns',
  },
  {
    name: 'an agent is read on although its reader does not read',
    file: 'packages/service/src/grpc/message-stream.ts',
    text: 'if (this.#reader.waitingBytes >= AHEAD_BYTES) this.#stream.pause();',
    replacement: '',
    tests: [`${SRC}/agents/agent-call.test.ts`],
    protects: 'memory, from processes that print faster than a client reads',
  },
  {
    name: 'a write ends only when the agent takes it',
    file: 'packages/service/src/grpc/message-stream.ts',
    text: 'for (const refuse of this.#writers) refuse(error);',
    replacement: '',
    tests: CHANNEL_TESTS,
    protects: 'clients and API servers, from agents that no longer read',
  },
  {
    name: 'an agent that says nothing is waited for',
    file: `${SRC}/agents/agent-channel.ts`,
    text: 'cancel = clock.setTimer(KEEPALIVE.answerMs, cut);',
    replacement: '',
    tests: CHANNEL_TESTS,
    protects: 'clients, from streams that last for ever',
  },
];

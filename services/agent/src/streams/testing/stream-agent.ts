import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { systemClock } from '@gantry/base';
import { type ContainerStreamsSchema, type StreamStart, StreamStartSchema } from '@gantry/proto';
import { type GrpcCall, silentLogger } from '@gantry/service';
import type { StreamTarget } from '@gantry/streams/testing';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll } from 'vitest';
import { createNodeServer } from '../../endpoints/node-server.ts';
import type { HollowProcess, HollowStreamBehaviour } from '../../hollow/hollow-streams.ts';
import type { ProcessOutput } from '../../runtime/streams.ts';
import { createAuthority } from '../../testing/authority.ts';
import { runningContainer } from '../../testing/running-container.ts';
import { PodStreams } from '../serve-stream.ts';

const OWNER = { cluster: 'c', node: 'node-a' };
/** The pod of `running-container.ts`. */
export const POD = { namespace: 'default', pod: 'web', podUid: 'uid-1', user: 'jane' };
export const API_SERVER = {
  commonName: 'system:apiserver',
  organizations: ['gantry:apiservers'],
  organizationalUnits: [],
};
/** The subprotocols of kubectl's streams over WebSockets. */
export const V4 = 'v4.channel.k8s.io';
export const V5 = 'v5.channel.k8s.io';
/** The content of the error stream of a successful command. */
export const SUCCESS = '{"metadata":{},"status":"Success"}';
const CHUNK = Buffer.alloc(64 * 1024, 'x');

type Script = (process: HollowProcess) => AsyncIterable<ProcessOutput>;

/** Notes about the processes and ports. */
export interface AgentNotes {
  readonly processes: HollowProcess[];
  /** The number of bytes that `flood` has sent. */
  flooded: number;
  /** The data that arrived for a port after it closed its side. `end` is the last. */
  readonly late: string[];
  /** The commands that have reached the end of their input. */
  readonly ended: (readonly string[])[];
}

/** An agent with one pod. It speaks the clients' protocols over TLS on 127.0.0.1. */
export interface StreamAgent {
  /** The target as API servers call it. */
  readonly target: StreamTarget;
  readonly notes: AgentNotes;
  /** Returns the running commands. */
  commands(): readonly (readonly string[])[];
  /** Returns the path of a stream that the agent has accepted. `call` is the call of its API server. */
  accept(target: StreamStart['target'], call?: Partial<GrpcCall>): Promise<string>;
  exec(command: readonly string[], asked?: MessageInitShape<typeof ContainerStreamsSchema>): Promise<string>;
}

/** Starts an agent for all tests of a file. */
export function streamAgent(): StreamAgent {
  let started: Awaited<ReturnType<typeof startAgent>>;
  beforeAll(async () => {
    started = await startAgent();
  });
  afterAll(() => started[Symbol.dispose]());
  return {
    get target() {
      return started.target;
    },
    get notes() {
      return started.notes;
    },
    commands: () => started.commands(),
    accept: (target, call) => started.accept(target, call),
    exec: (command, asked) => started.exec(command, asked),
  };
}

async function startAgent(): Promise<StreamAgent & Disposable> {
  const notes: AgentNotes = { processes: [], flooded: 0, late: [], ended: [] };
  const { runtime, containerId } = await runningContainer(OWNER, { clock: systemClock, behaviour: behaviour(notes) });
  const streams = new PodStreams({ runtime, owner: OWNER, clock: systemClock });
  const issue = await createAuthority(systemClock.now());
  const client = await issue('CN=system:apiserver,O=gantry:apiservers', 'apiserver');
  const own = await issue('CN=system:node:node-a,O=system:nodes', 'node-a');
  const http = createNodeServer({
    tls: fixedTls(own),
    access: { check: async () => 'allowed' },
    endpoints: async () => ({ code: 200, contentType: 'text/plain', body: 'an endpoint' }),
    streams,
    clock: systemClock,
    logger: silentLogger,
  });
  const options = { ...own, requestCert: true, rejectUnauthorized: false };
  const listener = createServer(options, (socket) => http.accept(socket)).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const accept = async (target: StreamStart['target'], call: Partial<GrpcCall> = {}) => {
    const start = create(StreamStartSchema, { ...POD, target });
    const { signal } = new AbortController();
    const tickets = streams.tickets.open(start, { signal, identity: API_SERVER, ...call } as GrpcCall);
    const iterator = tickets[Symbol.asyncIterator]();
    const { value } = await iterator.next();
    // The call continues to the end of the stream.
    iterator.next().catch(() => undefined);
    return `/streams/${value.ticket}`;
  };
  return {
    target: { port: (listener.address() as AddressInfo).port, servername: 'node-a', ...client },
    notes,
    commands: () => runtime.streams.commands(containerId),
    accept,
    exec: (command, asked = { stdout: true }) => {
      const value = { container: 'main', command: [...command], ...asked };
      return accept(create(StreamStartSchema, { target: { case: 'exec', value } }).target);
    },
    [Symbol.dispose]: () => {
      http[Symbol.dispose]();
      listener.close();
    },
  };
}

/** The command decides the behaviour of its process. Ports from 1000 on echo in capitals. Port 2000 closes its side immediately. */
function behaviour(notes: AgentNotes): HollowStreamBehaviour {
  const print = (text: string): ProcessOutput => ({ kind: 'stdout', data: Buffer.from(text) });
  const exit = (exitCode: number): ProcessOutput => ({ kind: 'exit', exitCode });
  const scripts: Readonly<Record<string, Script>> = {
    cat: async function* ({ command = [], options: { stdin } }) {
      if (stdin !== undefined) for await (const data of stdin) yield { kind: 'stdout', data };
      notes.ended.push(command);
      yield exit(0);
    },
    both: async function* () {
      yield print('out');
      yield { kind: 'stderr', data: Buffer.from('err') };
      yield exit(0);
    },
    exit: async function* ({ command }) {
      yield exit(Number(command?.[1]));
    },
    break: async function* () {
      yield print('half');
      throw new Error('the engine is gone');
    },
    sizes: async function* ({ options: { sizes } }) {
      let left = 2;
      if (sizes !== undefined)
        for await (const { width, height } of sizes) {
          yield print(`${width}x${height} `);
          if (--left === 0) break;
        }
      yield exit(0);
    },
    hang: async function* () {
      yield print('on');
      await new Promise(() => undefined);
    },
    flood: async function* () {
      for (;;) {
        // The output of a process arrives in several turns of the event loop.
        await new Promise((resolve) => setImmediate(resolve));
        notes.flooded += CHUNK.length;
        yield { kind: 'stdout', data: CHUNK };
      }
    },
    attached: async function* () {
      yield print('from the first process');
    },
  };
  return {
    run: (process) => {
      notes.processes.push(process);
      return (scripts[process.command?.[0] ?? 'attached'] ?? expectScript)(process);
    },
    serve: (_spec, port, input) =>
      port < 1000 ? undefined : port === 2000 ? closeAtOnce(notes, input) : capitals(input),
  };
}

function expectScript({ command }: HollowProcess): never {
  throw new TypeError(`no script ${command?.[0]}`);
}

async function* capitals(input: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const data of input) yield Buffer.from(Buffer.from(data).toString().toUpperCase());
}

function closeAtOnce(notes: AgentNotes, input: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const read = async () => {
    for await (const data of input) notes.late.push(Buffer.from(data).toString());
    notes.late.push('end');
  };
  // The client may reset the connection.
  read().catch(() => undefined);
  return (async function* () {})();
}

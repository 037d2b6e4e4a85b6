import { create } from '@bufbuild/protobuf';
import { untilAborted } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import {
  AgentService,
  type ContainerLogsRequest,
  LogChunkSchema,
  type PortForwardInput,
  type PortForwardOutput,
  PortForwardOutputSchema,
  type StreamInput,
  type StreamOutput,
  StreamOutputSchema,
  type StreamStart,
} from '@gantry/proto';
import type { GrpcCall, GrpcService } from '@gantry/service';

/** What the agent was asked for, and what became of it. */
export interface AgentNotes {
  readonly starts: Pick<StreamStart, 'container' | 'command' | 'stdin' | 'stdout' | 'stderr' | 'tty'>[];
  /** Names of the commands whose call was cancelled. */
  readonly cancelled: string[];
  /** Bytes that `flood` has sent. */
  flooded: number;
  /** What came for a pod that had closed its side, `end` at last. */
  readonly late: string[];
  /** Resolves at the next cancellation. */
  nextCancelled(): Promise<void>;
}

type Requests = AsyncIterable<StreamInput>;
type Script = (requests: AsyncIterator<StreamInput>, start: StreamStart, call: GrpcCall) => AsyncIterable<StreamOutput>;

const output = (part: StreamOutput['part']): StreamOutput => create(StreamOutputSchema, { part });
const print = (text: string): StreamOutput => output({ case: 'stdout', value: Buffer.from(text) });
const exit = (code: number): StreamOutput => output({ case: 'exit', value: { code } as never });
const CHUNK = Buffer.alloc(64 * 1024, 'x');

/**
 * Serves streams over gRPC as the agent of a node: the command says what its process does. Ports of 1000 and above echo in capitals;
 * 2000 closes its side at once.
 */
export function scriptedAgent(): { readonly service: GrpcService; readonly notes: AgentNotes } {
  const waiting: (() => void)[] = [];
  const notes: AgentNotes = {
    starts: [],
    cancelled: [],
    flooded: 0,
    late: [],
    nextCancelled: () => new Promise((resolve) => waiting.push(resolve)),
  };
  const untilCancelled = async (name: string, call: GrpcCall): Promise<void> => {
    await untilAborted(call.signal);
    notes.cancelled.push(name);
    for (const resolve of waiting.splice(0)) resolve();
  };
  const scripts: Readonly<Record<string, Script>> = {
    cat: async function* (requests) {
      for (;;) {
        const { value, done } = await requests.next();
        if (done === true || value.part.case === 'stdinClosed') break;
        if (value.part.case === 'stdin') yield output({ case: 'stdout', value: value.part.value });
      }
      yield exit(0);
    },
    both: async function* () {
      yield print('out');
      yield output({ case: 'stderr', value: Buffer.from('err') });
      yield exit(0);
    },
    exit: async function* (_, { command }) {
      yield exit(Number(command[1]));
    },
    break: async function* () {
      yield print('half');
      throw new StatusError('InternalError', 'the engine is gone');
    },
    sizes: async function* (requests) {
      for (let left = 2; left > 0; ) {
        const { value, done } = await requests.next();
        if (done === true) break;
        if (value.part.case !== 'resize') continue;
        left--;
        yield print(`${value.part.value.width}x${value.part.value.height} `);
      }
      yield exit(0);
    },
    hang: async function* (_, __, call) {
      yield print('on');
      await untilCancelled('hang', call);
    },
    flood: async function* (_, __, call) {
      while (!call.signal.aborted) {
        notes.flooded += CHUNK.length;
        yield output({ case: 'stdout', value: CHUNK });
      }
    },
    attached: async function* () {
      yield print('from the first process');
    },
  };
  async function* run(requests: Requests, call: GrpcCall): AsyncIterable<StreamOutput> {
    const messages = requests[Symbol.asyncIterator]();
    const start = (await messages.next()).value?.part.value as StreamStart;
    const { container, command, stdin, stdout, stderr, tty } = start;
    notes.starts.push({ container, command, stdin, stdout, stderr, tty });
    if (container === 'gone') throw new StatusError('NotFound', 'container not found ("gone")');
    yield output({ case: 'started', value: {} as never });
    const script = scripts[command[0] ?? 'attached'];
    if (script === undefined) throw StatusError.internal('no such command');
    yield* script(messages, start, call);
  }
  async function* forward(requests: AsyncIterable<PortForwardInput>): AsyncIterable<PortForwardOutput> {
    const messages = requests[Symbol.asyncIterator]();
    const { value: first } = await messages.next();
    const port = first?.part.case === 'start' ? first.part.value.port : 0;
    if (port < 1000) throw StatusError.internal(`error forwarding port ${port} to pod: connection refused`);
    const answer = (part: unknown): PortForwardOutput => create(PortForwardOutputSchema, { part } as never);
    yield answer({ case: 'started', value: {} });
    if (port === 2000) yield answer({ case: 'dataClosed', value: {} });
    for (;;) {
      const { value, done } = await messages.next();
      if (done === true || value.part.case === 'dataClosed') {
        if (port === 2000) notes.late.push('end');
        return;
      }
      if (value.part.case !== 'data') continue;
      const text = Buffer.from(value.part.value).toString();
      if (port === 2000) notes.late.push(text);
      else yield answer({ case: 'data', value: Buffer.from(text.toUpperCase()) });
    }
  }
  async function* logs({ container, follow }: ContainerLogsRequest, call: GrpcCall) {
    if (container === 'gone') throw StatusError.badRequest('container "gone" has no log');
    yield create(LogChunkSchema, {});
    if (container === 'silent') {
      await untilCancelled('log', call);
      return;
    }
    for (const data of ['one\n', 'two\n']) yield create(LogChunkSchema, { data: Buffer.from(data) });
    if (container === 'breaks') throw new StatusError('InternalError', 'the engine is gone');
    if (follow) await untilCancelled('log', call);
  }
  const service: GrpcService = {
    descriptor: AgentService,
    handlers: {
      exec: { kind: 'duplex', handle: run },
      attach: { kind: 'duplex', handle: run },
      containerLogs: { kind: 'stream', handle: logs },
      portForward: { kind: 'duplex', handle: forward },
    },
  };
  return { service, notes };
}

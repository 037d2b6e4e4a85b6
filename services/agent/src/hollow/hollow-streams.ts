import { untilAborted } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSpec, ExecResult } from '../runtime/containers.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import type { PodConnection, ProcessOutput, StreamOptions, StreamRuntime } from '../runtime/streams.ts';

/** A process of a hollow container, as passed to its behaviour. */
export interface HollowProcess {
  readonly spec: ContainerSpec;
  /** Absent: the container's main process, to which a client has attached. */
  readonly command?: readonly string[];
  readonly options: Omit<StreamOptions, 'terminal'>;
}

/** How the processes and ports of hollow containers behave. */
export interface HollowStreamBehaviour {
  readonly exec?: (spec: ContainerSpec, command: readonly string[]) => ExecResult;
  /** Replaces `exec` for streams. The output of a killed process is no longer read. */
  readonly run?: (process: HollowProcess) => AsyncIterable<ProcessOutput>;
  /** Undefined: nothing listens on the port. */
  readonly serve?: (
    spec: SandboxSpec,
    port: number,
    input: AsyncIterable<Uint8Array>,
  ) => AsyncIterable<Uint8Array> | undefined;
}

/** The running containers and sandboxes of a hollow runtime; undefined for others. */
interface HollowParts {
  readonly behaviour: () => HollowStreamBehaviour;
  readonly container: (id: string) => { readonly spec: ContainerSpec; readonly ended: AbortSignal } | undefined;
  readonly sandbox: (id: string) => SandboxSpec | undefined;
}

/** The number of parts that a connection buffers in each direction. */
const BUFFER = { highWaterMark: 16 };

/** Streams of simulated processes, and the running commands. */
export class HollowStreams implements StreamRuntime {
  readonly #parts: HollowParts;
  readonly #running = new Map<string, readonly string[][]>();

  constructor(parts: HollowParts) {
    this.#parts = parts;
  }

  /** The running commands of a container. */
  commands(id: string): readonly (readonly string[])[] {
    return this.#running.get(id) ?? [];
  }

  async *execStream(
    id: string,
    command: readonly string[],
    options: StreamOptions,
    signal: AbortSignal,
  ): AsyncIterable<ProcessOutput> {
    const { spec, ended } = this.#container(id);
    const entry = [...command];
    this.#running.set(id, [...(this.#running.get(id) ?? []), entry]);
    try {
      const { run, exec } = this.#parts.behaviour();
      const outputs =
        run?.({ spec, command, options }) ?? results(exec?.(spec, command) ?? { exitCode: 0, output: '' });
      yield* until(outputs, AbortSignal.any([signal, ended]));
      signal.throwIfAborted();
    } finally {
      const left = (this.#running.get(id) ?? []).filter((other) => other !== entry);
      if (left.length === 0) this.#running.delete(id);
      else this.#running.set(id, left);
    }
  }

  async *attach(
    id: string,
    options: Omit<StreamOptions, 'terminal'>,
    signal: AbortSignal,
  ): AsyncIterable<ProcessOutput> {
    const { spec, ended } = this.#container(id);
    const { run } = this.#parts.behaviour();
    if (run === undefined) return;
    const stop = AbortSignal.any([signal, ended]);
    const stdin = spec.stdin === 'closed' ? undefined : options.stdin;
    if (stdin === undefined && options.stdin !== undefined) void discard(until(options.stdin, stop));
    yield* until(run({ spec, options: { ...options, stdin } }), stop);
    signal.throwIfAborted();
  }

  async connect(id: string, port: number, signal: AbortSignal): Promise<PodConnection> {
    signal.throwIfAborted();
    const spec = this.#parts.sandbox(id);
    if (spec === undefined) throw new AgentError('NotFound', `sandbox ${id} is not running`);
    const input = new TransformStream<Uint8Array, Uint8Array>({}, BUFFER, BUFFER);
    const output = this.#parts.behaviour().serve?.(spec, port, input.readable);
    if (output === undefined) throw new AgentError('ConnectFailed', `connect ECONNREFUSED 127.0.0.1:${port}`);
    const writer = input.writable.getWriter();
    const reset = new AbortController();
    return {
      output: until(output, reset.signal),
      write: (data) => writer.write(Buffer.from(data)),
      // Rejects when the connection is reset before the pod has read the rest.
      end: () => void writer.close().catch(() => undefined),
      [Symbol.dispose]: () => {
        reset.abort();
        // Rejects for a stream that has already failed; its reader has received that failure.
        void writer.abort().catch(() => undefined);
      },
    };
  }

  /** Nothing to do: processes end with the runtime. */
  async killLeftovers(): Promise<void> {}

  #container(id: string) {
    const found = this.#parts.container(id);
    if (found === undefined) throw new AgentError('NotFound', `container ${id} is not running`);
    return found;
  }
}

async function* results({ exitCode, output }: ExecResult): AsyncIterable<ProcessOutput> {
  if (output !== '') yield { kind: 'stdout', data: Buffer.from(output) };
  yield { kind: 'exit', exitCode };
}

async function discard(elements: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of elements);
}

/** The elements until `signal` is aborted. */
async function* until<T>(elements: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = elements[Symbol.asyncIterator]();
  const aborted = untilAborted(signal).then(() => undefined);
  for (;;) {
    const next = await Promise.race([iterator.next(), aborted]);
    if (signal.aborted || next === undefined || next.done === true) return;
    yield next.value;
  }
}

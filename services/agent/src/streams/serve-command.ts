import { on } from 'node:events';
import type { Readable } from 'node:stream';
import { anySignal, type Clock, errorMessage, untilAborted } from '@gantry/base';
import type { ContainerStreams } from '@gantry/proto';
import {
  chooseForCommand,
  type CommandOutcome,
  type CommandStreams,
  type MessageShare,
  openCommand,
  release,
  type Upgrade,
  type UpgradeExchange,
  writeTo,
} from '@gantry/streams';
import { AgentError } from '../runtime/agent-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { StreamOptions, TerminalSize } from '../runtime/streams.ts';
import type { AcceptedStream } from './stream-tickets.ts';
import { TerminalSizeError, TerminalSizes } from './terminal-sizes.ts';

/** Sent when the API server shuts down, or when the client's credentials are no longer valid. */
const ENDED_BY_SERVER = { kind: 'failure', message: 'the API server has ended the stream' } as const;
const DOING = { exec: 'error executing command in container', attach: 'error attaching to container' } as const;

interface CommandParts {
  readonly runtime: Runtime;
  readonly clock: Clock;
  /** The user's share of memory for messages. */
  readonly messages: MessageShare;
}

/** Serves exec or attach. Rejects as long as an HTTP error response is possible; later failures are sent on the client's error stream. */
export async function serveCommand(
  { runtime, clock, messages }: CommandParts,
  { start: { target }, id, signal }: AcceptedStream,
  exchange: UpgradeExchange,
  upgrade: Upgrade,
): Promise<void> {
  if (target.case !== 'exec' && target.case !== 'attach') throw new TypeError(`${target.case} is no command`);
  const { case: kind, value: asked } = target;
  const streams = await openCommand(exchange, upgrade, chooseForCommand(exchange.req), asked, { clock, messages });
  if (streams === undefined) return;
  using either = anySignal(signal, streams.ended);
  const outcome = await run(runtime, { kind, id, asked }, streams, either);
  if (streams.ended.aborted) return;
  await streams.finish(signal.aborted ? ENDED_BY_SERVER : outcome);
}

interface Run {
  readonly kind: 'exec' | 'attach';
  /** The id of the container. */
  readonly id: string;
  readonly asked: ContainerStreams;
}

/** Copies data between the client and the process, no faster than the receiver reads, until the process has ended. Never rejects. */
async function run(
  { streams: processes }: Runtime,
  { kind, id, asked }: Run,
  streams: CommandStreams,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const options: StreamOptions = {
    ...(streams.stdin === undefined ? {} : { stdin: readAll(streams.stdin, signal) }),
    ...(streams.resize === undefined ? {} : { sizes: sizesOf(streams.resize, signal) }),
    stdout: asked.stdout,
    stderr: asked.stderr,
    terminal: asked.tty ? 'tty' : 'none',
  };
  try {
    const outputs =
      kind === 'exec'
        ? processes.execStream(id, asked.command, options, signal)
        : processes.attach(id, options, signal);
    for await (const output of outputs) {
      if (output.kind === 'exit') return { kind: 'exit', code: output.exitCode };
      const client = streams[output.kind];
      if (client !== undefined) await writeTo(client, output.data);
    }
    // A process that a client attached to continues, or its exit code is in the pod's status.
    if (kind === 'attach') return { kind: 'success' };
    return { kind: 'failure', message: `${DOING.exec}: the engine gave no exit code` };
  } catch (error) {
    return { kind: 'failure', message: `${DOING[kind]}: ${messageOf(error, asked.container)}` };
  }
}

/** The kubelet's message. The container may have ended since it was found. */
function messageOf(error: unknown, container: string): string {
  const isGone =
    error instanceof AgentError &&
    (error.code === 'NotFound' || /is not running|No such container/.test(error.message));
  return isGone ? `container not found (${JSON.stringify(container)})` : errorMessage(error);
}

/**
 * The chunks that a client sends. The iterator of a stream would join waiting chunks by copying them. If the client disconnects early,
 * the iterable does not end, so that a command cannot take incomplete input as complete. Fails when `signal` is aborted.
 */
async function* readAll(stream: Readable, signal: AbortSignal): AsyncIterable<Buffer> {
  const options = { signal, close: ['end', 'close', 'error'], highWaterMark: 1 };
  for await (const [chunk] of on(stream, 'data', options) as AsyncIterable<readonly [Buffer]>) {
    yield chunk;
    release(chunk);
  }
  if (stream.readableEnded) return;
  await untilAborted(signal);
  throw signal.reason;
}

/** The sizes until the client sends something invalid. The terminal then keeps the last size. */
async function* sizesOf(stream: Readable, signal: AbortSignal): AsyncIterable<TerminalSize> {
  const sizes = new TerminalSizes();
  try {
    for await (const chunk of readAll(stream, signal)) yield* sizes.read(chunk);
  } catch (error) {
    if (!(error instanceof TerminalSizeError)) throw error;
    stream.resume();
  }
}

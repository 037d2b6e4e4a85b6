import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { LogOptions, LogRuntime } from '../runtime/logs.ts';
import { demultiplex, messagesOf } from './demultiplex.ts';
import { getStream } from './dial.ts';
import { fromDocker } from './docker-error.ts';
import { withoutRepeats } from './followed-log.ts';
import { afterLines, findTail, type Messages, terminalMessages, textOf } from './log-messages.ts';
import type { EngineCalls } from './engine-calls.ts';

/** A log that is not followed comes from the engine's disk, without pauses. */
const IDLE_MS = 60_000;

/** Logs of containers, without the engine's framing. They are streamed, never held in memory as a whole. */
export function dockerLogs(calls: EngineCalls): LogRuntime {
  return {
    readLogs: (id, options, signal) => read(calls, id, options, signal),
  };
}

async function* read(
  calls: EngineCalls,
  id: string,
  options: LogOptions,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  try {
    const { Config: config } = await calls.read(signal, (docker, abortSignal) =>
      docker.getContainer(id).inspect({ abortSignal }),
    );
    const log = { calls, id, kind: config.Tty ? 'terminal' : 'outputs', signal } as const;
    const { tailLines: lines = 0 } = options;
    if (!options.timestamps && lines === 0 && (config.Tty || !options.follow)) {
      yield* bytesOf(log, options);
      return;
    }
    const tail =
      lines > 0
        ? await findTail(lines, (tailLines) => messagesIn(log, { ...options, follow: false, tailLines }))
        : { messages: options.tailLines, skippedEnds: 0, kept: undefined };
    const whole = () => messagesIn(log, { ...options, tailLines: tail.messages });
    const read = options.follow ? (config.Tty ? whole() : withoutRepeats(whole())) : (tail.kept ?? whole());
    yield* textOf(afterLines(read, tail.skippedEnds), options.timestamps ? 'kept' : 'removed');
  } catch (error) {
    throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
  }
}

/** A log and how the engine sends it: in frames, or as it is. */
interface OpenLog {
  readonly calls: EngineCalls;
  readonly id: string;
  readonly kind: 'outputs' | 'terminal';
  readonly signal: AbortSignal;
}

type Range = Omit<LogOptions, 'tailLines'> & { readonly tailLines?: number | undefined };

/** The text of a log without times. */
async function* bytesOf(log: OpenLog, range: Range): AsyncIterable<Uint8Array> {
  const raw = rawLog(log, { ...range, timestamps: false });
  yield* log.kind === 'terminal' ? raw : demultiplex(raw);
}

/** The messages of a log with their times. */
function messagesIn(log: OpenLog, range: Range): Messages {
  const raw = rawLog(log, { ...range, timestamps: true });
  return log.kind === 'terminal' ? terminalMessages(raw) : messagesOf(raw);
}

async function* rawLog({ calls, id, signal }: OpenLog, range: Range): AsyncIterable<Uint8Array> {
  const stream = await calls.open(signal, (docker, abort) => openLog(docker, id, range, abort));
  try {
    yield* range.follow ? stream : calls.chunks(stream, signal, IDLE_MS);
  } finally {
    stream.destroy();
  }
}

function openLog(docker: Docker, id: string, options: Range, abort: AbortSignal): Promise<Readable> {
  const query = {
    stdout: true,
    stderr: true,
    follow: options.follow,
    timestamps: options.timestamps,
    ...(options.tailLines === undefined ? {} : { tail: options.tailLines }),
    ...(options.since === undefined ? {} : { since: options.since / 1000 }),
  };
  return getStream(docker, { path: `/containers/${id}/logs`, query, abort });
}

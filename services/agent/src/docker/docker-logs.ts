import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { LogOptions, LogRuntime } from '../runtime/logs.ts';
import { demultiplex, messagesOf } from './demultiplex.ts';
import { getStream } from './dial.ts';
import { fromDocker } from './docker-error.ts';
import { withoutRepeats } from './followed-log.ts';
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
    // The log of a terminal has no frames, so its messages cannot be distinguished.
    const isWatched = options.follow && !config.Tty;
    const asked = { ...options, timestamps: options.timestamps || isWatched };
    const stream = await calls.open(signal, (docker, abort) => openLog(docker, id, asked, abort));
    try {
      if (isWatched) {
        yield* withoutRepeats(messagesOf(stream), options.timestamps ? 'kept' : 'removed');
        return;
      }
      const raw = options.follow ? stream : calls.chunks(stream, signal, IDLE_MS);
      yield* config.Tty ? raw : demultiplex(raw);
    } finally {
      stream.destroy();
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
  }
}

function openLog(docker: Docker, id: string, options: LogOptions, abort: AbortSignal): Promise<Readable> {
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

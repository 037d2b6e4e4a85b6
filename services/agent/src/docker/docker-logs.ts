import type Docker from 'dockerode';
import type { LogOptions, LogRuntime } from '../runtime/logs.ts';
import { demultiplex } from './demultiplex.ts';
import { fromDocker } from './docker-error.ts';

/** Logs of containers, without the engine's framing. */
export function dockerLogs(docker: Docker): LogRuntime {
  return {
    readLogs: (id, options, signal) => read(docker, id, options, signal),
  };
}

async function* read(docker: Docker, id: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const container = docker.getContainer(id);
  try {
    const { Config: config } = await container.inspect();
    const common = {
      stdout: true,
      stderr: true,
      timestamps: options.timestamps,
      ...(options.tailLines === undefined ? {} : { tail: options.tailLines }),
      ...(options.since === undefined ? {} : { since: options.since / 1000 }),
      abortSignal: signal,
    };
    const raw: AsyncIterable<Uint8Array> = options.follow
      ? ((await container.logs({ ...common, follow: true })) as AsyncIterable<Uint8Array>)
      : once(await container.logs({ ...common, follow: false }));
    yield* config.Tty ? raw : demultiplex(raw);
  } catch (error) {
    throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

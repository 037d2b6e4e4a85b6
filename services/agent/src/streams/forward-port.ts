import { anySignal, errorMessage, onAbort, raceAbort } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { StreamStart } from '@gantry/proto';
import { type PortStreams, writeTo } from '@gantry/streams';
import type { PodConnection } from '../runtime/streams.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { StreamLimits } from './stream-limits.ts';

interface PortParts {
  readonly runtime: Runtime;
  readonly limits: StreamLimits;
  readonly start: StreamStart;
  readonly sandboxId: string;
  /** Aborted when the client has left, or the API server ends the stream. */
  readonly signal: AbortSignal;
}

/** Serves one connection to a port of a pod. Never rejects: a failure is sent on the error stream. */
export async function forwardPort(parts: PortParts, { port, data, error }: PortStreams): Promise<void> {
  const { runtime, limits, start, sandboxId } = parts;
  const closed = new AbortController();
  data.once('close', () => {
    // Otherwise both sides have ended normally.
    if (!data.readableEnded || !data.writableFinished) closed.abort();
  });
  using signal = anySignal(parts.signal, closed.signal);
  try {
    using _counted = limits.take(start.podUid);
    using connection = await runtime.streams.connect(sandboxId, port, signal);
    // `send` does not notice when a client that has closed its side disconnects, and the pod may keep its side open indefinitely.
    using _ = onAbort(signal, () => connection[Symbol.dispose]());
    signal.throwIfAborted();
    const sending = send(data, connection);
    for await (const part of connection.output) await writeTo(data, part);
    signal.throwIfAborted();
    data.end();
    error.end();
    // Continue to read what the client still sends.
    await raceAbort(sending, signal);
  } catch (failure) {
    if (!error.destroyed && !error.writableEnded) error.end(messageOf(failure, port, start));
    data.destroy();
  }
}

/** Sends until the client has closed its side. A failure closes the connection; reading its output reports the reason. */
async function send(data: PortStreams['data'], connection: PodConnection): Promise<void> {
  try {
    for await (const part of data.iterator({ destroyOnReturn: false })) await connection.write(part as Buffer);
    connection.end();
  } catch {
    connection[Symbol.dispose]();
  }
}

/** The kubelet's message. */
function messageOf(error: unknown, port: number, { pod, podUid }: StreamStart): string {
  if (error instanceof StatusError) return error.message;
  return `error forwarding port ${port} to pod ${pod}, uid ${podUid}: ${errorMessage(error)}`;
}

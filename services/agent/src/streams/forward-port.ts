import { create } from '@bufbuild/protobuf';
import { errorMessage, raceAbort } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import {
  type PortForwardInput,
  type PortForwardOutput,
  PortForwardOutputSchema,
  type PortForwardStart,
  StreamStartedSchema,
} from '@gantry/proto';
import type { GrpcCall } from '@gantry/service';
import type { PodConnection } from '../runtime/streams.ts';
import { findRunningSandbox } from './find-in-pod.ts';
import type { StreamParts } from './stream-parts.ts';
import { requireApiServer } from '../identity/bootstrap-client.ts';

const MAX_PORT = 65_535;

/** One connection to a port of a pod of this node. */
export async function* forwardPort(
  { runtime, owner, limits }: StreamParts,
  requests: AsyncIterable<PortForwardInput>,
  call: GrpcCall,
): AsyncIterable<PortForwardOutput> {
  requireApiServer(call, 'pods', '', 'forward ports');
  const iterator = requests[Symbol.asyncIterator]();
  const start = readStart(await iterator.next());
  using _counted = limits.take(start.podUid);
  const sandboxId = await findRunningSandbox(runtime, owner, start, call.signal);
  const ended = new AbortController();
  let close = (): void => undefined;
  try {
    using connection = await runtime.streams.connect(sandboxId, start.port, call.signal);
    // A client that has closed its side sends no more, and is not missed by `send`; the pod may keep its side open for ever.
    close = () => connection[Symbol.dispose]();
    call.signal.addEventListener('abort', close, { once: true });
    call.signal.throwIfAborted();
    yield create(PortForwardOutputSchema, { part: { case: 'started', value: create(StreamStartedSchema) } });
    const sending = send(iterator, connection, ended.signal);
    for await (const data of connection.output) {
      yield create(PortForwardOutputSchema, { part: { case: 'data', value: data } });
    }
    if (call.signal.aborted) return;
    yield create(PortForwardOutputSchema, { part: { case: 'dataClosed', value: {} } });
    // What the client still sends has a reader.
    await raceAbort(sending, call.signal);
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    throw error instanceof StatusError ? error : connectError(error, start);
  } finally {
    call.signal.removeEventListener('abort', close);
    ended.abort();
  }
}

function readStart(first: IteratorResult<PortForwardInput, unknown>): PortForwardStart {
  const part = first.done === true ? undefined : first.value.part;
  if (part?.case !== 'start') throw StatusError.badRequest('the first message of a stream must be its start');
  const { port } = part.value;
  if (port < 1 || port > MAX_PORT) throw StatusError.badRequest(`port must be between 1 and ${MAX_PORT}: ${port}`);
  return part.value;
}

/** Sends until the client has closed its side. A failure closes the connection, whose output says why. */
async function send(
  iterator: AsyncIterator<PortForwardInput>,
  connection: PodConnection,
  ended: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      const next = await raceAbort(iterator.next(), ended);
      if (next.done === true || next.value.part.case === 'dataClosed') break;
      if (next.value.part.case === 'data') await raceAbort(connection.write(next.value.part.value), ended);
    }
    connection.end();
  } catch {
    if (!ended.aborted) connection[Symbol.dispose]();
  }
}

/** The kubelet's words. */
function connectError(error: unknown, { port, pod, podUid }: PortForwardStart): StatusError {
  return StatusError.unavailable(`error forwarding port ${port} to pod ${pod}, uid ${podUid}: ${errorMessage(error)}`);
}

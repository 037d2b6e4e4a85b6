import { create } from '@bufbuild/protobuf';
import { StatusError } from '@gantry/objects';
import { AgentService, type ContainerLogsRequest, type LogChunk, LogChunkSchema } from '@gantry/proto';
import type { GrpcCall, GrpcService } from '@gantry/service';
import { type Owner, containerId } from '../runtime/labels.ts';
import type { ContainerState } from '../runtime/containers.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { requireApiServer } from '../identity/bootstrap-client.ts';

/** The limit of one message. API servers accept 16 times as much. */
const MAX_CHUNK_BYTES = 64 * 1024;
const NOTHING_YET = new Uint8Array(0);

/** The gRPC service with which API servers read logs of this node's containers. */
export function logService(runtime: Runtime, owner: Owner): GrpcService {
  return {
    descriptor: AgentService,
    handlers: {
      containerLogs: {
        kind: 'stream',
        handle: (request: ContainerLogsRequest, call: GrpcCall) => containerLogs(runtime, owner, request, call),
      },
    },
  };
}

async function* containerLogs(
  runtime: Runtime,
  owner: Owner,
  request: ContainerLogsRequest,
  call: GrpcCall,
): AsyncIterable<LogChunk> {
  requireApiServer(call, 'pods', request.pod, 'read logs');
  for await (const data of readContainerLog(runtime, owner, request, call.signal))
    yield create(LogChunkSchema, { data });
}

/**
 * A log in small parts. The first part is empty and is sent as soon as the log exists, like in the kubelet, so that the client gets a
 * response even while the container is silent. StatusError 'BadRequest' with the kubelet's message when there is no log.
 */
export async function* readContainerLog(
  runtime: Runtime,
  owner: Owner,
  request: ContainerLogsRequest,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const container = await findContainer(runtime, owner, request, signal);
  yield NOTHING_YET;
  const options = {
    follow: request.follow,
    timestamps: request.timestamps,
    ...(request.tailLines === undefined ? {} : { tailLines: Math.max(0, Number(request.tailLines)) }),
    ...(request.sinceMs === undefined ? {} : { since: Math.max(0, Number(request.sinceMs)) }),
  };
  let left = request.limitBytes === undefined ? Number.POSITIVE_INFINITY : Number(request.limitBytes);
  if (left <= 0) return;
  for await (const data of runtime.logs.readLogs(container.id, options, signal)) {
    for (let from = 0; from < data.length; from += MAX_CHUNK_BYTES) {
      const part = data.subarray(from, Math.min(from + MAX_CHUNK_BYTES, from + left));
      left -= part.length;
      yield part;
      if (left <= 0) return;
    }
  }
}

async function findContainer(
  runtime: Runtime,
  owner: Owner,
  request: ContainerLogsRequest,
  signal: AbortSignal,
): Promise<ContainerState> {
  const { container: name, pod, previousId } = request;
  const states = await runtime.observer.listPods({ ...owner, podUid: request.podUid }, signal);
  const attempts = (states[0]?.containers ?? []).filter((container) => container.name === name);
  // During the back-off before a restart, the previous run is the newest attempt. So only the status shows which run is meant.
  const found =
    previousId === ''
      ? attempts.find(({ state }) => state !== 'created')
      : attempts.find((attempt) => containerId(attempt) === previousId);
  if (found !== undefined) return found;
  throw previousId === ''
    ? StatusError.badRequest(
        `container ${JSON.stringify(name)} in pod ${JSON.stringify(pod)} is waiting to start: ContainerCreating`,
      )
    : noPreviousRun(pod, name);
}

/** The kubelet's message. */
export function noPreviousRun(pod: string, container: string): StatusError {
  const named = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
  return StatusError.badRequest(`previous terminated ${named} not found`);
}

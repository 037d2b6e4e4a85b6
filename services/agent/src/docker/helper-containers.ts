import type Docker from 'dockerode';
import { AgentError } from '../runtime/agent-error.ts';
import { createContainer, getJson } from './dial.ts';
import { fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';

/** The used parts of an image's inspection that the client library's type does not have. */
export interface InspectedImage {
  readonly GraphDriver?: { readonly Name?: string; readonly Data?: Readonly<Record<string, string>> | null };
  readonly Config?: { readonly Volumes?: Readonly<Record<string, unknown>> | null } | null;
}

/** Inspects an image. AgentError 'ImageNotFound' or 'CreateContainerError'. */
export async function inspectById(calls: EngineCalls, id: string, signal: AbortSignal): Promise<InspectedImage> {
  try {
    return (await calls.read(signal, (docker, abort) =>
      getJson(docker, { path: `/images/${id}/json`, abort }),
    )) as InspectedImage;
  } catch (error) {
    throw fromDocker(error, 'CreateContainerError');
  }
}

/** The folders for which an image declares volumes. */
export function declaredVolumes({ Config: config }: InspectedImage): readonly string[] {
  return Object.keys(config?.Volumes ?? {});
}

/** Creates a container and returns its id. Removes a container of the same name that an interrupted call has left. */
export async function createAnew(
  calls: EngineCalls,
  options: Docker.ContainerCreateOptions,
  signal: AbortSignal,
): Promise<string> {
  const created = await createNamed(calls, options, signal);
  if (created !== undefined) return created;
  await removeHelper(calls, options.name ?? '', signal);
  const again = await createNamed(calls, options, signal);
  if (again !== undefined) return again;
  throw new AgentError('CreateContainerError', `container ${options.name ?? ''} exists`);
}

/** Creates a container and returns its id; undefined when a container of this name exists. */
export async function createNamed(
  calls: EngineCalls,
  options: Docker.ContainerCreateOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { id } = await calls.change(signal, (docker, abortSignal) => createContainer(docker, options, abortSignal));
    return id;
  } catch (error) {
    const failure = fromDocker(error, 'CreateContainerError');
    if (failure.code === 'Conflict') return undefined;
    throw failure;
  }
}

/** Removes a helper container. Idempotent. */
export async function removeHelper(calls: EngineCalls, id: string, signal: AbortSignal): Promise<void> {
  await idempotent(() =>
    calls.change(signal, (docker, abortSignal) =>
      docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
    ),
  );
}

import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { AgentError } from '../runtime/agent-error.ts';
import type {
  ImageInfo,
  ImageRuntime,
  ListedImage,
  PullReport,
  RegistryCredential,
  PullProgress,
} from '../runtime/images.ts';
import { getJson } from './dial.ts';
import { describeDockerError, fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { readLines } from './lines.ts';

/** A pull that makes no progress for this long has failed. */
const PROGRESS_MS = 120_000;

/** Images of the engine. */
export function dockerImages(calls: EngineCalls): ImageRuntime {
  return {
    inspectImage: (reference, signal) => inspect(calls, reference, signal),
    pullImage: (...pulled) => pull(calls, ...pulled),
    listImages: (signal) => list(calls, signal),
    usedImages: (signal) => used(calls, signal),
    // Without force: an image that a container uses stays.
    removeImage: (name, signal) =>
      idempotent(() => calls.change(signal, (docker, abortSignal) => docker.getImage(name).remove({ abortSignal }))),
  };
}

async function inspect(calls: EngineCalls, reference: string, signal: AbortSignal): Promise<ImageInfo | undefined> {
  try {
    const image = (await calls.read(signal, (docker, abort) =>
      getJson(docker, { path: `/images/${fullName(reference)}/json`, abort }),
    )) as Docker.ImageInspectInfo;
    return {
      id: image.Id,
      sizeBytes: image.Size,
      digests: image.RepoDigests ?? [],
      user: image.Config.User ?? '',
      labels: Object.keys(image.Config.Labels ?? {}),
    };
  } catch (error) {
    if (describeDockerError(error).status === 404) return undefined;
    throw fromDocker(error, 'Runtime');
  }
}

/** Of a name without a host the engine would take hexadecimal digits for the id of an image, or its beginning. */
function fullName(reference: string): string {
  return reference.includes('/') ? reference : `docker.io/library/${reference}`;
}

/** The engine responds 200 before the pull; an error is a line of the progress stream. */
async function list(calls: EngineCalls, signal: AbortSignal): Promise<readonly ListedImage[]> {
  try {
    const images = (await calls.read(signal, (docker, abort) =>
      getJson(docker, { path: '/images/json', abort }),
    )) as Docker.ImageInfo[];
    // An image without a tag has the name <none>:<none> in older engines.
    const named = (name: string) => !name.startsWith('<none>');
    return images
      .map(({ Id: id, Size: sizeBytes, RepoDigests, RepoTags }) => ({
        id,
        sizeBytes,
        names: [...(RepoDigests ?? []).filter(named), ...(RepoTags ?? []).filter(named)],
      }))
      .filter(({ names }) => names.length > 0);
  } catch (error) {
    throw fromDocker(error, 'Runtime');
  }
}

async function used(calls: EngineCalls, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const query = { all: true };
    const containers = (await calls.read(signal, (docker, abort) =>
      getJson(docker, { path: '/containers/json', query, abort }),
    )) as Docker.ContainerInfo[];
    return new Set(containers.map(({ ImageID }) => ImageID));
  } catch (error) {
    throw fromDocker(error, 'Runtime');
  }
}

async function pull(
  calls: EngineCalls,
  reference: string,
  credential: RegistryCredential | 'anonymous',
  signal: AbortSignal,
  report?: PullReport,
): Promise<void> {
  const tagged = /(:[^/]+|@sha256:[0-9a-f]+)$/.test(reference) ? reference : `${reference}:latest`;
  // The engine sends it to the registry of the reference alone.
  const login =
    credential === 'anonymous'
      ? {}
      : { authconfig: { username: credential.username, password: credential.password, serveraddress: '' } };
  try {
    const stream = await calls.open(
      signal,
      async (docker, abortSignal) => (await docker.pull(tagged, { ...login, abortSignal })) as Readable,
    );
    const layers = new LayerProgress();
    for await (const line of readLines(calls.chunks(stream, signal, PROGRESS_MS))) {
      const said = JSON.parse(line) as PullLine;
      if (said.error !== undefined) throw new AgentError('ErrImagePull', said.error);
      const progress = layers.note(said);
      if (progress !== undefined) report?.(progress);
    }
  } catch (error) {
    if (error instanceof AgentError) throw error;
    throw new AgentError('ErrImagePull', describeDockerError(error).message, { cause: error });
  }
}

/** A line of the engine's report of a pull. */
interface PullLine {
  readonly error?: string;
  /** Of a layer. */
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** The engine's storage drivers take fewer layers (overlay2: 128); a registry may announce any number. */
const MAX_LAYERS = 256;
/** Larger layers are not counted: the sum of all of them is exact. */
const MAX_LAYER_BYTES = 2 ** 44;

/** Adds up what the engine reports of each layer. Time of a line and memory do not depend on how many layers a registry announces. */
export class LayerProgress {
  readonly #layers = new Map<string, PullProgress>();
  #bytes = 0;
  #totalBytes = 0;

  /** How far the pull is after a line; undefined for a line that says nothing of it. Layers that have not begun count nothing. */
  note({ id, status, progressDetail: { current, total } = {} }: PullLine): PullProgress | undefined {
    if (id === undefined) return undefined;
    const known = this.#layers.get(id);
    if (status === 'Downloading' && current !== undefined && total !== undefined) {
      if (!(current >= 0 && total > 0 && total <= MAX_LAYER_BYTES)) return undefined;
      if (known === undefined && this.#layers.size >= MAX_LAYERS) return undefined;
      return this.#replace(id, { bytes: Math.min(current, total), totalBytes: total });
    }
    if (status === 'Download complete' && known !== undefined)
      return this.#replace(id, { bytes: known.totalBytes, totalBytes: known.totalBytes });
    return undefined;
  }

  #replace(id: string, layer: PullProgress): PullProgress {
    const { bytes, totalBytes } = this.#layers.get(id) ?? { bytes: 0, totalBytes: 0 };
    this.#layers.set(id, layer);
    this.#bytes += layer.bytes - bytes;
    this.#totalBytes += layer.totalBytes - totalBytes;
    return { bytes: this.#bytes, totalBytes: this.#totalBytes };
  }
}

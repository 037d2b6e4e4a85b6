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

/** A pull without progress for this long has failed. */
const PROGRESS_MS = 120_000;

/** Images of the engine. */
export function dockerImages(calls: EngineCalls): ImageRuntime {
  return {
    inspectImage: (reference, signal) => inspect(calls, reference, signal),
    pullImage: (...pulled) => pull(calls, ...pulled),
    listImages: (signal) => list(calls, signal),
    usedImages: (signal) => used(calls, signal),
    // Without force, so an image that a container uses is not removed.
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

/** The reference with host. The engine would take hexadecimal digits without a host for the id of an image, or its prefix. */
function fullName(reference: string): string {
  return reference.includes('/') ? reference : `docker.io/library/${reference}`;
}

async function list(calls: EngineCalls, signal: AbortSignal): Promise<readonly ListedImage[]> {
  try {
    const images = (await calls.read(signal, (docker, abort) =>
      getJson(docker, { path: '/images/json', abort }),
    )) as Docker.ImageInfo[];
    // Older engines name an image without tag <none>:<none>.
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

/** The engine responds 200 before the pull; an error is a line of the progress stream. */
async function pull(
  calls: EngineCalls,
  reference: string,
  credential: RegistryCredential | 'anonymous',
  signal: AbortSignal,
  report?: PullReport,
): Promise<void> {
  const tagged = /(:[^/]+|@sha256:[0-9a-f]+)$/.test(reference) ? reference : `${reference}:latest`;
  // The engine sends the credential only to the registry of the reference.
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

/** A line of the engine's progress stream. */
interface PullLine {
  readonly error?: string;
  /** The id of a layer. */
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** More than storage drivers of the engine support (overlay2: 128). A registry may announce any number. */
const MAX_LAYERS = 256;
/** Larger layers are ignored, so that the sum of all layers is an exact integer. */
const MAX_LAYER_BYTES = 2 ** 44;

/** Sums the engine's progress of each layer. Time per line and memory are bounded, however many layers a registry announces. */
export class LayerProgress {
  readonly #layers = new Map<string, PullProgress>();
  #bytes = 0;
  #totalBytes = 0;

  /** The progress after a line; undefined for a line without progress. Layers whose download has not begun are not counted. */
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

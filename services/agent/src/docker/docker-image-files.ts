import type { IncomingMessage } from 'node:http';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageFileRuntime, ImageFilesSpec } from '../runtime/image-files.ts';
import { readArchivedFile } from './archive-file.ts';
import { getStream } from './dial.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import { type EngineCalls, REQUEST_MS } from './engine-calls.ts';
import { createAnew, declaredVolumes, inspectById, removeHelper } from './helper-containers.ts';
import { imageFilesOptions } from './options/image-volume-options.ts';

/** What the engine says of the file beside its archive. */
interface PathStat {
  readonly mode: number;
  /** Where a link leads in the end, within the container. */
  readonly linkTarget: string;
}

/** Of a mode, as Go's os.FileMode has it. */
const LINK = 2 ** 27;
const KINDS = 0x8f28_0000;

/**
 * Files of images: the engine makes a container that is never started, archives them from there, and removes it. Its own files are
 * those of the image, as no container has changed them.
 */
export function dockerImageFiles(calls: EngineCalls): ImageFileRuntime {
  return {
    readImageFiles: async (spec, signal) => {
      const image = await inspectById(calls, spec.image.id, signal);
      try {
        const id = await createAnew(calls, imageFilesOptions(spec, declaredVolumes(image)), signal);
        try {
          return await readAll(calls, id, spec, signal);
        } finally {
          await removeHelper(calls, id, new AbortController().signal);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw fromDocker(error, 'CreateContainerError');
      }
    },
  };
}

async function readAll(
  calls: EngineCalls,
  id: string,
  { paths, maxBytes }: ImageFilesSpec,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const path of paths) {
    try {
      const content = await readOne(calls, { id, path, maxBytes }, signal);
      if (content !== undefined) found.set(path, content);
    } catch (error) {
      signal.throwIfAborted();
      const { message } = fromDocker(error, 'CreateContainerError');
      throw new AgentError('CreateContainerError', `cannot read ${path} of the image: ${message}`, { cause: error });
    }
  }
  return found;
}

interface FileOfContainer {
  readonly id: string;
  readonly path: string;
  readonly maxBytes: number;
}

/** Undefined where there is no such file. */
async function readOne(
  calls: EngineCalls,
  { id, path, maxBytes }: FileOfContainer,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const first = await archive(calls, id, path, signal);
  if (first === undefined) return undefined;
  const { mode, linkTarget } = statOf(first);
  if ((mode & KINDS) >>> 0 !== LINK) return await content(calls, first, maxBytes, signal);
  first.destroy();
  const target = await archive(calls, id, linkTarget, signal);
  return target === undefined ? undefined : await content(calls, target, maxBytes, signal);
}

async function content(
  calls: EngineCalls,
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if ((statOf(response).mode & KINDS) !== 0) {
    response.destroy();
    throw new AgentError('CreateContainerError', 'it is not a file');
  }
  return await readArchivedFile(calls.chunks(response, signal, REQUEST_MS), maxBytes);
}

async function archive(
  calls: EngineCalls,
  id: string,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage | undefined> {
  try {
    return await calls.open(signal, async (docker, abort) => {
      const get = { path: `/containers/${id}/archive`, query: { path }, abort };
      return (await getStream(docker, get)) as IncomingMessage;
    });
  } catch (error) {
    const { status, message } = describeDockerError(error);
    // A container that is not there has no file either, but says nothing of the image.
    if (status === 404 && /could not find the file/i.test(message)) return undefined;
    throw error;
  }
}

function statOf({ headers }: IncomingMessage): PathStat {
  const header = headers['x-docker-container-path-stat'];
  const stat = JSON.parse(Buffer.from(String(header), 'base64').toString()) as Partial<PathStat>;
  const { mode, linkTarget } = stat;
  if (typeof mode === 'number' && typeof linkTarget === 'string') return { mode, linkTarget };
  throw new AgentError('CreateContainerError', 'the engine does not say what it is');
}

import type { IncomingMessage } from 'node:http';
import { AgentError } from '../runtime/agent-error.ts';
import { getStream } from './dial.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import { type EngineCalls, REQUEST_MS } from './engine-calls.ts';
import { createAnew, declaredVolumes, inspectById, removeHelper } from './helper-containers.ts';
import { imageFilesOptions } from './options/image-volume-options.ts';
import type { ImageFileRuntime, ImageFilesSpec } from '../runtime/images.ts';

const BLOCK = 512;
/** Positions in a tar header: the size of the content in octal digits, and the type. */
const SIZE = { from: 124, to: 136 };
const KIND = 156;
/** Types of regular files; older programs write a zero byte. */
const FILE = new Set(['0', '\0']);
/** Types of extended attributes for the next header. */
const ATTRIBUTES = new Set(['x', 'g']);

/** The engine's description of the file, sent with its archive. */
interface PathStat {
  readonly mode: number;
  /** The final target of a link, within the container. */
  readonly linkTarget: string;
}

/** Bits of Go's os.FileMode. */
const LINK = 2 ** 27;
const KINDS = 0x8f28_0000;

/**
 * Reads files of images: the engine creates a container that is never started, sends archives of its files, and removes it. The
 * container's files are the image's files, since nothing has changed them.
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

/** Undefined when the file does not exist. */
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
    // A missing container also causes 404, but means nothing about the image.
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

/**
 * The content of the file at the start of a tar archive. Extended attributes before it are skipped and count towards its size. AgentError
 * 'CreateContainerError' when the archive begins with something else, or when the file is larger than `maxBytes`; the rest is not read
 * then.
 */
export async function readArchivedFile(archive: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks = archive[Symbol.asyncIterator]();
  let buffered = Buffer.alloc(0);
  let leftBytes = maxBytes;
  const take = async (bytes: number): Promise<Buffer> => {
    while (buffered.length < bytes) {
      const next = await chunks.next();
      if (next.done === true) throw failure('its archive is cut off');
      buffered = Buffer.concat([buffered, next.value]);
    }
    const taken = buffered.subarray(0, bytes);
    buffered = buffered.subarray(bytes);
    return taken;
  };
  try {
    for (;;) {
      const header = await take(BLOCK);
      const kind = header.toString('latin1', KIND, KIND + 1);
      const digits = header.toString('latin1', SIZE.from, SIZE.to).replace(/[\0 ]+$/, '');
      const isFile = FILE.has(kind);
      if (!isFile && !ATTRIBUTES.has(kind)) throw failure('it is not a file');
      const size = /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.POSITIVE_INFINITY;
      if (size > leftBytes) throw failure(`it is larger than ${maxBytes} bytes`);
      const content = await take(size);
      if (isFile) return content;
      await take((BLOCK - (size % BLOCK)) % BLOCK);
      leftBytes -= size;
    }
  } finally {
    await chunks.return?.();
  }
}

function failure(why: string): AgentError {
  return new AgentError('CreateContainerError', why);
}

import { AgentError } from '../runtime/agent-error.ts';

const BLOCK = 512;
/** Where a header of a tar archive has the size of what follows, in octal digits, and its kind. */
const SIZE = { from: 124, to: 136 };
const KIND = 156;
/** A file; older programs write a zero byte. */
const FILE = new Set(['0', '\0']);
/** Attributes that do not fit into the header that comes next. */
const ATTRIBUTES = new Set(['x', 'g']);

/**
 * The contents of the file that a tar archive begins with. Attributes before it are skipped, and count as part of its size. AgentError
 * 'CreateContainerError' when it begins with something else, or with more than `maxBytes`, of which no more is read.
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

import { expect, it } from 'vitest';
import { readArchivedFile } from './docker-image-files.ts';

/** Returns one entry of a tar archive. `digits` replaces the size of its content. */
function entry(kind: string, content: string, digits = content.length.toString(8).padStart(11, '0')): Buffer {
  const header = Buffer.alloc(512);
  header.write('passwd', 0);
  header.write(digits, 124);
  header.write(kind, 156);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header, Buffer.from(content), padding]);
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

it.each([1, 511, 512, 513, 10_000])('the file of an archive is read in pieces of %d bytes', async (size) => {
  const content = 'root:x:0:0\n'.repeat(70);
  const archive = Buffer.concat([entry('x', '30 mtime=1'), entry('0', content), Buffer.alloc(1024)]);
  const read = await readArchivedFile(inPieces(archive, size), 1000);
  expect(Buffer.from(read).toString()).toBe(content);
});

it('an empty file, and one of an old archive, are files', async () => {
  expect(await readArchivedFile(inPieces(entry('0', ''), 512), 10)).toHaveLength(0);
  expect(await readArchivedFile(inPieces(entry('\0', 'a'), 512), 10)).toHaveLength(1);
});

it.each([
  { name: 'a folder', archive: entry('5', ''), message: 'it is not a file' },
  { name: 'a link', archive: entry('2', ''), message: 'it is not a file' },
  { name: 'a device', archive: entry('3', ''), message: 'it is not a file' },
  { name: 'a large file', archive: entry('0', 'a'.repeat(101)), message: 'it is larger than 100 bytes' },
  { name: 'much in front', archive: entry('x', 'a'.repeat(101)), message: 'it is larger than 100 bytes' },
  {
    name: 'much in front, in parts',
    archive: Buffer.concat([entry('x', 'a'.repeat(60)), entry('x', 'a'.repeat(60))]),
    message: 'it is larger than 100 bytes',
  },
  { name: 'a size that is none', archive: entry('0', '', '\x80\0\0\0\0\0\0\0\0\0\0'), message: 'it is larger than' },
  { name: 'no size', archive: entry('0', '', ''), message: 'it is larger than' },
  { name: 'half a file', archive: entry('0', 'a'.repeat(90)).subarray(0, 600), message: 'its archive is cut off' },
  { name: 'nothing', archive: Buffer.alloc(0), message: 'its archive is cut off' },
])('an archive of $name is refused', async ({ archive, message }) => {
  let ended = false;
  async function* pieces() {
    try {
      yield* inPieces(archive, 64);
    } finally {
      ended = true;
    }
  }
  await expect(readArchivedFile(pieces(), 100)).rejects.toMatchObject({
    code: 'CreateContainerError',
    message: expect.stringContaining(message) as string,
  });
  expect(ended).toBe(true);
});

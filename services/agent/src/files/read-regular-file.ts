import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/**
 * Reads a file of at most `maxBytes`, through links. `other` for what is no regular file: a named pipe would block its reader until there
 * is a writer, and a device may never end. The errors are those of open(2) and read(2).
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer | 'other' | 'too-large'> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  if (!stats.isFile()) return 'other';
  if (stats.size > maxBytes) return 'too-large';
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(stats.size), 0, stats.size, 0);
  return buffer.subarray(0, bytesRead);
}

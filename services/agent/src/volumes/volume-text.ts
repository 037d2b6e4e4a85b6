import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import { openBeneath, openOwned } from '../mounts/open-path.ts';

/** Of a file whose variables a container gets. */
const MAX_BYTES = 2 ** 20;

/**
 * The text of a regular file in a volume, which a pod may have written: no link leads out of the volume. Undefined for one that is
 * missing, too large, or cannot be read.
 */
export async function volumeText(volume: string, path: string): Promise<string | undefined> {
  try {
    await using root = await openOwned(volume);
    await using found = await openBeneath(root, path, 'refuse');
    if (!(await found.stat()).isFile()) return undefined;
    await using handle = await open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = await handle.stat();
    if (size > MAX_BYTES) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
    return buffer.subarray(0, bytesRead).toString();
  } catch (error) {
    if (error instanceof AgentError) return undefined;
    throw error;
  }
}

import { readRegularFile } from '../files/read-regular-file.ts';
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
    // A device must not even be opened.
    if (!(await found.stat()).isFile()) return undefined;
    const content = await readRegularFile(`/proc/self/fd/${found.fd}`, MAX_BYTES);
    return typeof content === 'string' ? undefined : content.toString();
  } catch (error) {
    if (error instanceof AgentError) return undefined;
    throw error;
  }
}

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'key-volume';
/** The names that the engine gives to anonymous volumes: no other volume is removed because this file names it. */
const ANONYMOUS = /^[0-9a-f]{64}$/;

/**
 * Notes in a node's state folder which volume has its keys. Compose leaves the volume behind when it removes the agent; the
 * custodian removes it with the node.
 */
export async function writeKeyVolume(stateFolder: string, volume: string): Promise<void> {
  await writeFile(join(stateFolder, FILE), volume);
}

/** The anonymous volume with a node's keys; undefined when none is noted. */
export async function readKeyVolume(stateFolder: string): Promise<string | undefined> {
  try {
    const volume = await readFile(join(stateFolder, FILE), 'utf8');
    return ANONYMOUS.test(volume) ? volume : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

import { mkdir, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';

/**
 * The folder or file of a volume that a mount shows, created when it does not exist. AgentError 'CreateContainerConfigError'
 * when `subPath` leads out of the volume, also by links in it.
 */
export async function resolveSubPath(volume: string, subPath: string | undefined): Promise<string> {
  if (subPath === undefined || subPath === '') return volume;
  if (subPath.startsWith('/') || subPath.split('/').includes('..')) throw leadsOut(subPath);
  const path = join(volume, subPath);
  try {
    const real = await realpath(path);
    if (relative(await realpath(volume), real).startsWith('..')) throw leadsOut(subPath);
    return real;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(path, { recursive: true, mode: 0o750 });
    return path;
  }
}

function leadsOut(subPath: string): AgentError {
  return new AgentError('CreateContainerConfigError', `subPath ${JSON.stringify(subPath)} leads out of its volume`);
}

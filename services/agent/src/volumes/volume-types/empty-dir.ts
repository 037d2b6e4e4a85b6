import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { quantityValue } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import { memoryLimitOf } from '../../spec/resources.ts';
import { defineVolumeType } from './volume-type.ts';

const ANY_USER = 0o777;

/** An empty folder that lives as long as its pod, on the disk or in memory. AgentError 'FailedMount' for another medium. */
export const emptyDirVolume = defineVolumeType(
  'emptyDir',
  { access: 'read-write', storage: 'disk' },
  async ({ medium = '', sizeLimit }, { folder, mountMemory }, { pod, facts }) => {
    switch (medium) {
      case '':
        await makeFolder(folder);
        return;
      case 'Memory': {
        // As kubelet sizes it: by what the volume, the pod and the node allow, the least of them.
        const limits = [sizeLimit === undefined ? 0 : quantityValue(sizeLimit), memoryLimitOf(pod)];
        await mountMemory(Math.min(facts.memoryBytes, ...limits.filter((bytes) => bytes > 0)));
        return;
      }
      default:
        throw new AgentError('FailedMount', `unknown storage medium ${JSON.stringify(medium)}`);
    }
  },
);

/** Makes the folder with its mode at one moment. One that exists stays as it is: its mode is the pod's to change. */
async function makeFolder(folder: string): Promise<void> {
  if (await exists(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  // No volume's name has a tilde.
  const next = `${folder}~`;
  await rm(next, { recursive: true, force: true });
  await mkdir(next);
  await chmod(next, ANY_USER);
  await rename(next, folder);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

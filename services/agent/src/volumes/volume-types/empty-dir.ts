import { quantityValue } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import { fileOwnersOf } from '../../spec/file-owners.ts';
import { memoryLimitOf } from '../../spec/resources.ts';
import { giveToGroup, groupMode } from '../../files/file-owner.ts';
import { defineVolumeType } from './volume-type.ts';
import { chmod, chown, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isThere } from '../../files/if-there.ts';

const ANY_USER = 0o777;
/** An empty folder that lives as long as its pod, on the disk or in memory. AgentError 'FailedMount' for another medium. */
export const emptyDirVolume = defineVolumeType(
  'emptyDir',
  { access: 'read-write', storage: 'disk' },
  async ({ medium = '', sizeLimit }, { folder, mountMemory }, { pod, facts }, signal) => {
    const { group } = fileOwnersOf(pod);
    switch (medium) {
      case '':
        await makeFolder(folder, group);
        return;
      case 'Memory': {
        // As kubelet sizes it: by what the volume, the pod and the node allow, the least of them. To the kernel, 0 would be no limit.
        const ofVolume = sizeLimit === undefined ? 0 : quantityValue(sizeLimit);
        const limits = [facts.allocatable().memoryBytes, ofVolume, memoryLimitOf(pod)].filter((bytes) => bytes > 0);
        const made = await mountMemory(Math.min(facts.capacity().memoryBytes, ...limits));
        if (made === 'made' && group !== undefined) {
          await giveToGroup(folder, { group, access: 'read-write' }, 'always', signal);
        }
        return;
      }
      default:
        throw new AgentError('FailedMount', `unknown storage medium ${JSON.stringify(medium)}`);
    }
  },
);

/**
 * Makes a folder for any user, or one of a group, with its mode at one moment. One that exists stays as it is: its mode is the
 * pod's to change.
 */
export async function makeFolder(folder: string, group?: number): Promise<void> {
  if (await isThere(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  // No volume's name has a tilde.
  const next = `${folder}~`;
  await rm(next, { recursive: true, force: true });
  await mkdir(next);
  if (group !== undefined) await chown(next, -1, group);
  await chmod(next, group === undefined ? ANY_USER : groupMode(ANY_USER, 'folder', 'read-write'));
  await rename(next, folder);
}

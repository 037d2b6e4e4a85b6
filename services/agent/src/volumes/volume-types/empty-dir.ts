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
/** An empty folder that exists as long as its pod, on disk or in memory. AgentError 'FailedMount' for another medium. */
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
        // The size is the least of the limits of volume, pod and node, like in the kubelet. The kernel takes 0 for no limit.
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
 * Creates a folder for any user or for a group; folder and mode appear atomically. An existing folder keeps its mode, which the pod may
 * have changed.
 */
export async function makeFolder(folder: string, group?: number): Promise<void> {
  if (await isThere(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  // Volume names contain no tilde.
  const next = `${folder}~`;
  await rm(next, { recursive: true, force: true });
  await mkdir(next);
  if (group !== undefined) await chown(next, -1, group);
  await chmod(next, group === undefined ? ANY_USER : groupMode(ANY_USER, 'folder', 'read-write'));
  await rename(next, folder);
}

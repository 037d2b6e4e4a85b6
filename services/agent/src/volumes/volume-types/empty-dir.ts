import { quantityValue } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import { fileOwnersOf } from '../../spec/file-owners.ts';
import { memoryLimitOf } from '../../spec/resources.ts';
import { giveToGroup } from '../../files/file-owner.ts';
import { makeFolder } from './make-folder.ts';
import { defineVolumeType } from './volume-type.ts';

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

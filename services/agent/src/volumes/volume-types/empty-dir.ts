import { quantityValue } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import { memoryLimitOf } from '../../spec/resources.ts';
import { makeFolder } from './make-folder.ts';
import { defineVolumeType } from './volume-type.ts';

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

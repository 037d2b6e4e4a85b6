/** Tries real mounts in the folder that is its argument. Run in a container that may mount. */
import { exerciseHostMounts } from '../../runtime/testing/mounts-contract.ts';
import { linuxMounts } from '../linux-mounts.ts';

await exerciseHostMounts(linuxMounts(), process.argv[2] ?? '');

import { chmod, mkdir } from 'node:fs/promises';
import { defineVolumeType } from './volume-type.ts';

/** An empty folder that lives as long as its pod. */
export const emptyDirVolume = defineVolumeType('emptyDir', 'read-write', async (_source, { folder }) => {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o777);
});

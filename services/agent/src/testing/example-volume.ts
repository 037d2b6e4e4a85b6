import { defineFileVolumeType } from '../volumes/volume-types/volume-type.ts';

/** A read-only folder with one file that contains the repository of the volume. */
export const gitRepoVolume = defineFileVolumeType('gitRepo', 'disk', async ({ repository, revision = 'HEAD' }) => [
  { path: 'SOURCE', content: Buffer.from(`${repository}@${revision}\n`), mode: 0o444 },
]);

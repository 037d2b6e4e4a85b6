import { defineVolumeType } from './volume-type.ts';

/**
 * The files of an image. Containers wait for it where they wait for their own images, and show the same reasons: it is pulled and mounted
 * when the first container that uses it is started.
 */
export const imageVolume = defineVolumeType('image', { access: 'read-only', storage: 'image' }, async () => undefined);

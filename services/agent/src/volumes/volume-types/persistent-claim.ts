import { defineVolumeType } from './volume-type.ts';

/** The folder of the persistent volume to which the claim is bound. */
export const persistentClaimVolume = defineVolumeType(
  'persistentVolumeClaim',
  { access: 'read-write', storage: 'persistent' },
  async () => undefined,
);

/** The same, of the claim that is made for the pod. */
export const ephemeralVolume = defineVolumeType(
  'ephemeral',
  { access: 'read-write', storage: 'persistent' },
  async () => undefined,
);

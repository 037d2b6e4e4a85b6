import { defineVolumeType } from './volume-type.ts';

/** A folder of an NFS server, which the host's kernel mounts for each pod. The files keep their owners, also with an `fsGroup`. */
export const nfsVolume = defineVolumeType(
  'nfs',
  { access: 'read-write', storage: 'disk' },
  async ({ server, path, readOnly }, { mountNfs }, _, signal) => {
    const access = readOnly === true ? 'read-only' : 'read-write';
    await mountNfs({ server, path, options: [], access }, signal);
  },
);

import type { Volume } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { type VolumeType, defineVolumeType } from './volume-types/volume-type.ts';
import { emptyDirVolume } from './volume-types/empty-dir.ts';
import { hostPathVolume } from './volume-types/host-path.ts';
import { projectedVolume, downwardApiVolume } from './volume-types/projected.ts';
import { configMapVolume, secretVolume } from './volume-types/volume-file.ts';

/** The folder of the persistent volume to which the claim is bound. */
const persistentClaimVolume = defineVolumeType(
  'persistentVolumeClaim',
  { access: 'read-write', storage: 'persistent' },
  async () => undefined,
);

/** The same, of the claim that is made for the pod. */
const ephemeralVolume = defineVolumeType(
  'ephemeral',
  { access: 'read-write', storage: 'persistent' },
  async () => undefined,
);

/** A folder of an NFS server, which the host's kernel mounts for each pod. The files keep their owners, also with an `fsGroup`. */
const nfsVolume = defineVolumeType(
  'nfs',
  { access: 'read-write', storage: 'disk' },
  async ({ server, path, readOnly }, { mountNfs }, _, signal) => {
    const access = readOnly === true ? 'read-only' : 'read-write';
    await mountNfs({ server, path, options: [], access }, signal);
  },
);

/**
 * The files of an image. Containers wait for it where they wait for their own images, and show the same reasons: it is pulled and mounted
 * when the first container that uses it is started.
 */
const imageVolume = defineVolumeType('image', { access: 'read-only', storage: 'image' }, async () => undefined);

/** A new volume type is a file in `volume-types/` and a line here. A volume of any other type is refused. */
const VOLUME_TYPES: readonly VolumeType[] = [
  emptyDirVolume,
  hostPathVolume,
  configMapVolume,
  secretVolume,
  downwardApiVolume,
  projectedVolume,
  persistentClaimVolume,
  ephemeralVolume,
  imageVolume,
  nfsVolume,
];

/** The type of a volume. AgentError 'FailedMount' when this node does not support it. */
export function volumeTypeOf(volume: Volume): VolumeType {
  const type = VOLUME_TYPES.find(({ field }) => volume[field] !== undefined);
  if (type !== undefined) return type;
  const field = Object.keys(volume).find((key) => key !== 'name') ?? 'unknown';
  throw new AgentError('FailedMount', `volumes of kind ${field} are not supported by this node`);
}

import type { Volume } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { type VolumeType, defineVolumeType } from './volume-types/volume-type.ts';
import { emptyDirVolume } from './volume-types/empty-dir.ts';
import { hostPathVolume } from './volume-types/host-path.ts';
import { projectedVolume, downwardApiVolume } from './volume-types/projected.ts';
import { configMapVolume, secretVolume } from './volume-types/volume-file.ts';

/** The volume that the claim is bound to. */
const persistentClaimVolume = defineVolumeType(
  'persistentVolumeClaim',
  { access: 'read-write', storage: 'persistent' },
  async () => undefined,
);

/** Like `persistentVolumeClaim`, for the claim that is created for the pod. */
const ephemeralVolume = defineVolumeType(
  'ephemeral',
  { access: 'read-write', storage: 'persistent' },
  async () => undefined,
);

/** A folder of an NFS server, which the host's kernel mounts for each pod. Files keep their owners, even with an `fsGroup`. */
const nfsVolume = defineVolumeType(
  'nfs',
  { access: 'read-write', storage: 'disk' },
  async ({ server, path, readOnly }, { mountNfs }, _, signal) => {
    const access = readOnly === true ? 'read-only' : 'read-write';
    await mountNfs({ server, path, options: [], access }, signal);
  },
);

/**
 * The files of an image. It is pulled and mounted when the first container that uses it starts. Containers wait for it like for their
 * own images, and show the same waiting reasons.
 */
const imageVolume = defineVolumeType('image', { access: 'read-only', storage: 'image' }, async () => undefined);

/** To add a volume type, add a file to `volume-types/` and a line here. Volumes of other types are refused. */
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

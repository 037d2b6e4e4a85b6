import type { Volume } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { VolumeType } from './volume-types/volume-type.ts';
import { configMapVolume } from './volume-types/config-map.ts';
import { downwardApiVolume } from './volume-types/downward-api.ts';
import { emptyDirVolume } from './volume-types/empty-dir.ts';
import { hostPathVolume } from './volume-types/host-path.ts';
import { imageVolume } from './volume-types/image.ts';
import { ephemeralVolume, persistentClaimVolume } from './volume-types/persistent-claim.ts';
import { nfsVolume } from './volume-types/nfs.ts';
import { projectedVolume } from './volume-types/projected.ts';
import { secretVolume } from './volume-types/secret.ts';

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

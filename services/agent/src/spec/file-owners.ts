import type { Pod } from '@gantry/objects';
import { allContainersOf } from './pod-containers.ts';

/** Who owns the files of a pod's volumes. */
export interface FileOwners {
  /** The group that may use the volumes' files: `fsGroup`. */
  readonly group: number | undefined;
  /** The uid of all containers, if they have the same one. Tokens are readable only by this user. */
  readonly user: number | undefined;
  /** Whether to skip a volume whose root already has the right owner and mode. */
  readonly change: 'always' | 'on-root-mismatch';
}

/** The owners that a pod's security context names (pkg/volume/util, `FsUserFrom`). */
export function fileOwnersOf(pod: Pod): FileOwners {
  const shared = pod.spec?.securityContext ?? {};
  const users = allContainersOf(pod).map(({ container }) => container.securityContext?.runAsUser ?? shared.runAsUser);
  const [first] = users;
  return {
    group: shared.fsGroup,
    user: users.every((user) => user === first) ? first : undefined,
    change: shared.fsGroupChangePolicy === 'OnRootMismatch' ? 'on-root-mismatch' : 'always',
  };
}

import type Docker from 'dockerode';
import type { MountSpec } from '../../runtime/containers.ts';
import type { OptionGroup } from './option-group.ts';

/** Bind mounts of volumes. */
export const mountOptions: OptionGroup = ({ mounts }) => ({
  host: {
    Mounts: mounts.map((mount) => ({
      Type: 'bind' as const,
      Source: mount.hostPath,
      Target: mount.containerPath,
      ReadOnly: mount.access !== 'read-write',
      BindOptions: bindOptions(mount),
    })),
  },
});

/**
 * Without a propagation the engine chooses a private one, or for its own folders one from the host: it refuses others there. Engines
 * from 25 on make a read-only mount recursive unless they are told otherwise; older ones ignore that and never do.
 */
function bindOptions({ access, propagation }: MountSpec): Docker.MountSettings['BindOptions'] {
  return {
    ...(propagation === 'none' ? {} : { Propagation: propagation === 'both' ? 'rshared' : 'rslave' }),
    ...(access === 'read-only' ? { ReadOnlyNonRecursive: true } : {}),
  } as Docker.MountSettings['BindOptions'];
}

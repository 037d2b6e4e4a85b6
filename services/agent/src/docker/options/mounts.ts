import type { OptionGroup } from './option-group.ts';

/** Bind mounts of volumes. */
export const mountOptions: OptionGroup = ({ mounts }) => ({
  host: {
    Mounts: mounts.map((mount) => ({
      Type: 'bind' as const,
      Source: mount.hostPath,
      Target: mount.containerPath,
      ReadOnly: mount.access === 'read-only',
    })),
  },
});

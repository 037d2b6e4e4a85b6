import type { OptionGroup } from './option-group.ts';

/** As kubelet asks a runtime: read, write and make a node of it, or only read. */
const PERMISSIONS = { 'read-write': 'mrw', 'read-only': 'r' } as const;

/** Block devices of volumes. The engine makes their nodes in the container. */
export const deviceOptions: OptionGroup = ({ devices }) => ({
  host: {
    Devices: devices.map(({ hostPath, containerPath, access }) => ({
      PathOnHost: hostPath,
      PathInContainer: containerPath,
      CgroupPermissions: PERMISSIONS[access],
    })),
  },
});

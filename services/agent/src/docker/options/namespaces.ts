import type { OptionGroup } from './option-group.ts';

/** Network and IPC namespaces of the sandbox, and the process namespace that the pod asks for. */
export const namespaceOptions: OptionGroup = ({ sandboxId, processes }) => ({
  host: {
    NetworkMode: `container:${sandboxId}`,
    IpcMode: `container:${sandboxId}`,
    ...(processes === 'own' ? {} : { PidMode: processes === 'host' ? 'host' : `container:${sandboxId}` }),
  },
});

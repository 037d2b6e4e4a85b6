import type { OptionGroup } from './option-group.ts';

/** The network namespace of the sandbox, and the process and IPC namespaces that the pod asks for. */
export const namespaceOptions: OptionGroup = ({ sandboxId, processes, ipc }) => ({
  host: {
    NetworkMode: `container:${sandboxId}`,
    IpcMode: ipc === 'host' ? 'host' : `container:${sandboxId}`,
    ...(processes === 'own' ? {} : { PidMode: processes === 'host' ? 'host' : `container:${sandboxId}` }),
  },
});

import type { ContainerSpec } from '../../runtime/containers.ts';
import type { OptionGroup } from './option-group.ts';

/** The network namespace of the sandbox, and the process and IPC namespaces that the pod asks for. */
export const namespaceOptions: OptionGroup = ({ sandboxId, processes, ipc }) => ({
  host: {
    NetworkMode: `container:${sandboxId}`,
    IpcMode: ipc === 'host' ? 'host' : `container:${sandboxId}`,
    ...pidMode(processes, sandboxId),
  },
});

function pidMode(processes: ContainerSpec['processes'], sandboxId: string): { readonly PidMode?: string } {
  if (processes === 'own') return {};
  if (processes === 'host') return { PidMode: 'host' };
  return { PidMode: `container:${processes === 'shared-with-pod' ? sandboxId : processes.containerId}` };
}

import type Docker from 'dockerode';
import type { ContainerSpec, MountSpec } from '../../runtime/containers.ts';
import type { EnginePrivilege } from '../../runtime/engine.ts';
import { identityOptions } from './identity.ts';
import type { OptionGroup } from './option-group.ts';
import { resourceOptions, LOG_CONFIG } from './resources.ts';
import { securityOptions } from './security.ts';

/** Image, command, variables and terminal. */
export const processOptions: OptionGroup = (spec) => ({
  container: {
    Image: spec.image,
    ...(spec.command === undefined ? {} : { Entrypoint: [...spec.command] }),
    ...(spec.args === undefined ? {} : { Cmd: [...spec.args] }),
    WorkingDir: spec.workingDir,
    StopSignal: spec.stopSignal,
    Env: spec.env.map((variable) => `${variable.name}=${variable.value}`),
    OpenStdin: spec.stdin !== 'closed',
    StdinOnce: spec.stdin === 'open-once',
    Tty: spec.terminal === 'tty',
    // A health check of the image is Docker's, not the pod's.
    Healthcheck: { Test: ['NONE'] },
  },
  host: { RestartPolicy: { Name: 'no' }, Runtime: spec.runtime },
});

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

/** A new field of a container is translated in its group; a new group is a function and a line here. */
const GROUPS: readonly OptionGroup[] = [
  identityOptions,
  processOptions,
  namespaceOptions,
  mountOptions,
  deviceOptions,
  resourceOptions,
  securityOptions,
];

/** The engine's options for a pod's container. */
export function containerOptions(spec: ContainerSpec, engine: EnginePrivilege): Docker.ContainerCreateOptions {
  const parts = GROUPS.map((group) => group(spec, engine));
  return Object.assign({}, ...parts.map(({ container }) => container), {
    HostConfig: Object.assign({ LogConfig: LOG_CONFIG }, ...parts.map(({ host }) => host)) as Docker.HostConfig,
  }) as Docker.ContainerCreateOptions;
}

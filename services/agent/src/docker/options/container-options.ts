import type Docker from 'dockerode';
import type { ContainerSpec, MountSpec } from '../../runtime/containers.ts';
import type { EnginePrivilege } from '../../runtime/engine.ts';
import { identityOptions } from './identity.ts';
import type { OptionGroup } from './option-group.ts';
import { resourceOptions, LOG_CONFIG } from './resources.ts';
import { securityOptions } from './security.ts';

/** Image, command, environment variables and terminal. */
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
    // Disable the image's health check: only the pod's probes apply.
    Healthcheck: { Test: ['NONE'] },
  },
  host: { RestartPolicy: { Name: 'no' }, Runtime: spec.runtime },
});

/** The network namespace of the sandbox, and the process and IPC namespaces that the pod requests. */
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
 * Without a propagation, the engine chooses `private`, or `rslave` for its own folders, where it refuses other values. Engines from 25 on
 * make read-only mounts recursive unless told otherwise; older engines ignore the option and never do.
 */
function bindOptions({ access, propagation }: MountSpec): Docker.MountSettings['BindOptions'] {
  return {
    ...(propagation === 'none' ? {} : { Propagation: propagation === 'both' ? 'rshared' : 'rslave' }),
    ...(access === 'read-only' ? { ReadOnlyNonRecursive: true } : {}),
  } as Docker.MountSettings['BindOptions'];
}

/** The kubelet's permissions: read, write and mknod, or only read. */
const PERMISSIONS = { 'read-write': 'mrw', 'read-only': 'r' } as const;

/** Block devices of volumes. The engine creates their device nodes in the container. */
export const deviceOptions: OptionGroup = ({ devices }) => ({
  host: {
    Devices: devices.map(({ hostPath, containerPath, access }) => ({
      PathOnHost: hostPath,
      PathInContainer: containerPath,
      CgroupPermissions: PERMISSIONS[access],
    })),
  },
});

/** To add a field of a container, translate it in its group. To add a group, add a function and a line here. */
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

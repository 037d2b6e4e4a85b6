import type { ContainerSpec } from '../containers.ts';
import type { SandboxSpec } from '../sandboxes.ts';
import type { ImageVolumeSpec } from '../images.ts';

/** A sandbox in the host's network, without any optional settings of a pod. */
export function plainSandbox(change: Pick<SandboxSpec, 'owner' | 'pod' | 'image'> & Partial<SandboxSpec>): SandboxSpec {
  return {
    attempt: 0,
    imageLabels: [],
    hostname: change.pod.name,
    network: { kind: 'host' },
    ipc: 'own',
    seccomp: 'own',
    hostAliases: [],
    dns: { servers: [], searches: [], options: [] },
    sysctls: {},
    oomScoreAdj: 0,
    graceSeconds: 0,
    ...change,
  };
}

/** The differences from a plain container. `security` is changed field by field. */
export type ContainerChange = Partial<Omit<ContainerSpec, 'security'>> & {
  readonly security?: Partial<ContainerSpec['security']>;
};

/** A container without privileges and without any optional settings of a pod. */
export function plainContainer({
  security,
  ...change
}: Pick<ContainerSpec, 'owner' | 'pod' | 'sandboxId' | 'image'> & ContainerChange): ContainerSpec {
  return {
    name: 'main',
    attempt: 0,
    hash: 'hash',
    restartDelayMs: 0,
    graceSeconds: 0,
    imageLabels: [],
    env: [],
    stdin: 'closed',
    terminal: 'none',
    mounts: [],
    devices: [],
    resources: {},
    group: 'engine',
    processLimit: 1000,
    oomScoreAdj: 0,
    security: {
      groups: [],
      privilege: 'ordinary',
      capabilities: { add: [], drop: [] },
      rootFilesystem: 'read-write',
      escalation: 'denied',
      seccomp: 'engine-default',
      appArmor: { kind: 'engine-default' },
      seLinux: {},
      proc: 'masked',
      ...security,
    },
    processes: 'own',
    ipc: 'shared-with-pod',
    ...change,
  };
}

/** A volume `data` from an image. */
export function plainImageVolume(
  change: Pick<ImageVolumeSpec, 'owner' | 'pod'> & Partial<ImageVolumeSpec>,
): ImageVolumeSpec {
  const image = { id: 'i', labels: [] };
  return { graceSeconds: 0, volume: 'data', image, sandboxImage: image, hostFolder: '/nonexistent', ...change };
}

import type Docker from 'dockerode';
import type { ContainerSpec, EnginePrivilege, SandboxSpec } from '../runtime/runtime.ts';
import { LABEL, type Owner, type PodIdentity, SANDBOX_NAME } from '../runtime/labels.ts';

/** Rotation bounds what a pod's log can take of the host's disk: what kubelet keeps by default. */
const LOG_CONFIG = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } };
const CPU_PERIOD_MICROS = 100_000;

/** Unique per pod, container and attempt: the engine refuses a second maker of the same. */
export function containerName(pod: PodIdentity, name: string, attempt: number): string {
  return `gantry_${name}_${pod.name}_${pod.namespace}_${pod.uid}_${attempt}`;
}

function podLabels(owner: Owner, pod: PodIdentity, graceSeconds: number): Record<string, string> {
  return {
    [LABEL.cluster]: owner.cluster,
    [LABEL.node]: owner.node,
    [LABEL.podName]: pod.name,
    [LABEL.podNamespace]: pod.namespace,
    [LABEL.podUid]: pod.uid,
    [LABEL.graceSeconds]: String(graceSeconds),
  };
}

/** The engine's options for a pause container. */
export function sandboxOptions(spec: SandboxSpec): Docker.ContainerCreateOptions {
  const pod = spec.network.kind === 'pod' ? spec.network : undefined;
  return {
    name: containerName(spec.pod, SANDBOX_NAME, spec.attempt),
    Image: spec.image,
    Hostname: pod === undefined ? '' : spec.hostname,
    Labels: {
      ...podLabels(spec.owner, spec.pod, spec.graceSeconds),
      [LABEL.containerName]: SANDBOX_NAME,
      [LABEL.restartCount]: String(spec.attempt),
    },
    HostConfig: {
      NetworkMode: pod?.name ?? 'host',
      IpcMode: 'shareable',
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
      OomScoreAdj: spec.oomScoreAdj,
      CpuShares: 2,
      ExtraHosts: spec.hostAliases.flatMap((alias) => alias.hostnames.map((name) => `${name}:${alias.ip}`)),
      Dns: [...spec.dns.servers],
      DnsSearch: [...spec.dns.searches],
      DnsOptions: [...spec.dns.options],
      Sysctls: { ...spec.sysctls },
    },
    ...(pod === undefined
      ? {}
      : { NetworkingConfig: { EndpointsConfig: { [pod.name]: { IPAMConfig: { IPv4Address: pod.address } } } } }),
  };
}

/** The engine's options for a pod's container. What the engine cannot give of full privilege is left out. */
export function containerOptions(spec: ContainerSpec, engine: EnginePrivilege): Docker.ContainerCreateOptions {
  return {
    name: containerName(spec.pod, spec.name, spec.attempt),
    Image: spec.image,
    ...(spec.command === undefined ? {} : { Entrypoint: [...spec.command] }),
    ...(spec.args === undefined ? {} : { Cmd: [...spec.args] }),
    ...(spec.workingDir === undefined ? {} : { WorkingDir: spec.workingDir }),
    ...(spec.security.user === undefined ? {} : { User: spec.security.user }),
    Env: spec.env.map((variable) => `${variable.name}=${variable.value}`),
    OpenStdin: spec.stdin !== 'closed',
    StdinOnce: spec.stdin === 'open-once',
    Tty: spec.terminal === 'tty',
    Labels: {
      ...podLabels(spec.owner, spec.pod, spec.graceSeconds),
      [LABEL.containerName]: spec.name,
      [LABEL.restartCount]: String(spec.attempt),
      [LABEL.containerHash]: spec.hash,
      [LABEL.sandboxId]: spec.sandboxId,
      [LABEL.restartDelayMs]: String(spec.restartDelayMs),
      ...(spec.terminationMessagePath === undefined ? {} : { [LABEL.terminationMessage]: spec.terminationMessagePath }),
    },
    // A health check of the image is Docker's, not the pod's.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: `container:${spec.sandboxId}`,
      IpcMode: `container:${spec.sandboxId}`,
      ...(spec.processes === 'own'
        ? {}
        : { PidMode: spec.processes === 'host' ? 'host' : `container:${spec.sandboxId}` }),
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
      OomScoreAdj: spec.oomScoreAdj,
      Mounts: spec.mounts.map((mount) => ({
        Type: 'bind' as const,
        Source: mount.hostPath,
        Target: mount.containerPath,
        ReadOnly: mount.access === 'read-only',
      })),
      ...resourceOptions(spec),
      ...securityOptions(spec, engine),
    },
  };
}

function resourceOptions({ resources }: ContainerSpec): Docker.HostConfig {
  return {
    CpuShares: resources.cpuShares ?? 2,
    ...(resources.cpuQuotaMicros === undefined
      ? {}
      : { CpuPeriod: CPU_PERIOD_MICROS, CpuQuota: resources.cpuQuotaMicros }),
    // Swap beyond the limit would hide an overuse that Kubernetes ends.
    ...(resources.memoryBytes === undefined
      ? {}
      : { Memory: resources.memoryBytes, MemorySwap: resources.memoryBytes }),
  };
}

function securityOptions({ security }: ContainerSpec, engine: EnginePrivilege): Docker.HostConfig {
  const options: Docker.HostConfig = {
    ReadonlyRootfs: security.rootFilesystem === 'read-only',
    GroupAdd: [...security.groups],
  };
  if (security.privilege === 'privileged') {
    if (engine === 'full') return { ...options, Privileged: true };
    return {
      ...options,
      CapAdd: ['ALL'],
      CapDrop: ['SYS_RESOURCE'],
      SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
      DeviceCgroupRules: ['a *:* rwm'],
      MaskedPaths: [],
      ReadonlyPaths: [],
    };
  }
  return {
    ...options,
    CapAdd: [...security.capabilities.add],
    CapDrop: [...security.capabilities.drop],
    SecurityOpt: security.escalation === 'denied' ? ['no-new-privileges'] : [],
  };
}

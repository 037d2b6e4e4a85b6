import type Docker from 'dockerode';
import { LABEL, SANDBOX_NAME } from '../../runtime/labels.ts';
import type { SandboxSpec } from '../../runtime/sandboxes.ts';
import { containerName, podLabels, withoutLabels } from './identity.ts';
import { LOG_CONFIG } from './logging.ts';
import { MIN_CPU_SHARES } from './resources.ts';

/** As every runtime of Kubernetes gives a pod; one that needs more mounts an emptyDir of medium Memory there. */
const SHARED_MEMORY_BYTES = 64 * 2 ** 20;

/** The engine's options for a pause container. */
export function sandboxOptions(spec: SandboxSpec): Docker.ContainerCreateOptions {
  const pod = spec.network.kind === 'pod' ? spec.network : undefined;
  return {
    name: containerName(spec.pod, SANDBOX_NAME, spec.attempt),
    Image: spec.image,
    // A health check of the image is Docker's, not the pod's.
    Healthcheck: { Test: ['NONE'] },
    Hostname: pod === undefined ? '' : spec.hostname,
    Labels: {
      ...withoutLabels(spec.imageLabels),
      ...podLabels(spec.owner, spec.pod, spec.graceSeconds),
      [LABEL.containerName]: SANDBOX_NAME,
      [LABEL.restartCount]: String(spec.attempt),
    },
    HostConfig: {
      NetworkMode: pod?.name ?? 'host',
      // Of /dev/shm, which the pod's containers share: the engine's own default could be another one.
      ShmSize: SHARED_MEMORY_BYTES,
      IpcMode: spec.ipc === 'host' ? 'host' : 'shareable',
      ...(spec.runtime === undefined ? {} : { Runtime: spec.runtime }),
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
      OomScoreAdj: spec.oomScoreAdj,
      CpuShares: MIN_CPU_SHARES,
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

import type Docker from 'dockerode';
import { LABEL, SANDBOX_NAME } from '../../runtime/labels.ts';
import type { PodNetwork, SandboxSpec } from '../../runtime/sandboxes.ts';
import { groupParent } from './pod-group-name.ts';
import { containerName, podLabels, withoutLabels } from './identity.ts';
import { LOG_CONFIG } from './logging.ts';
import { MIN_CPU_SHARES } from './resources.ts';
import { SANDBOX_SECCOMP } from './sandbox-seccomp.ts';

/** As every runtime of Kubernetes gives a pod; one that needs more mounts an emptyDir of medium Memory there. */
const SHARED_MEMORY_BYTES = 64 * 2 ** 20;

/** The bridge that the agent connects a sandbox to. */
export interface SandboxBridge {
  readonly name: string;
  /** Whether the kernel has IPv6, so that it can be switched off. */
  readonly kernelIpv6: 'present' | 'absent';
}

/** Of a network without IPv6 addresses, as the engine sets them. */
const WITHOUT_IPV6 = { 'net.ipv6.conf.all.disable_ipv6': '1', 'net.ipv6.conf.default.disable_ipv6': '1' };

/** The engine's options for a pause container. The agent connects it to `bridge`; without one, the engine does. */
export function sandboxOptions(spec: SandboxSpec, bridge?: SandboxBridge): Docker.ContainerCreateOptions {
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
      ...(bridge === undefined || pod === undefined
        ? {}
        : { [LABEL.address]: pod.address, [LABEL.bridge]: bridge.name }),
    },
    HostConfig: {
      NetworkMode: bridge === undefined ? (pod?.name ?? 'host') : 'none',
      // Of /dev/shm, which the pod's containers share: the engine's own default could be another one.
      ShmSize: SHARED_MEMORY_BYTES,
      IpcMode: spec.ipc === 'host' ? 'host' : 'shareable',
      ...(spec.runtime === undefined ? {} : { Runtime: spec.runtime }),
      RestartPolicy: { Name: 'no' },
      ...(spec.seccomp === 'own' ? { SecurityOpt: [`seccomp=${SANDBOX_SECCOMP}`] } : {}),
      LogConfig: LOG_CONFIG,
      OomScoreAdj: spec.oomScoreAdj,
      CpuShares: MIN_CPU_SHARES,
      ...(spec.resources === undefined ? {} : { CgroupParent: groupParent({ owner: spec.owner, uid: spec.pod.uid }) }),
      // The engine writes what stands before the address as it is: all names of an address on its line, as in kubelet's files.
      ExtraHosts: spec.hostAliases
        .filter(({ hostnames }) => hostnames.length > 0)
        .map(({ ip, hostnames }) => `${hostnames.join('\t')}:${ip}`),
      Dns: [...spec.dns.servers],
      DnsSearch: [...spec.dns.searches],
      DnsOptions: [...spec.dns.options],
      Sysctls: { ...(bridge?.kernelIpv6 === 'present' ? WITHOUT_IPV6 : {}), ...spec.sysctls },
    },
    ...networking(pod, bridge),
  };
}

/** A container without a network of the engine's has a namespace of its own, in which the engine sets up nothing. */
function networking(
  pod: PodNetwork | undefined,
  bridge: unknown,
): Pick<Docker.ContainerCreateOptions, 'NetworkDisabled' | 'NetworkingConfig'> {
  if (pod === undefined) return {};
  if (bridge !== undefined) return { NetworkDisabled: true };
  return { NetworkingConfig: { EndpointsConfig: { [pod.name]: { IPAMConfig: { IPv4Address: pod.address } } } } };
}

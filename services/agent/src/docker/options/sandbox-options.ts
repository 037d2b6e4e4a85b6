import type Docker from 'dockerode';
import { LABEL, SANDBOX_NAME } from '../../runtime/labels.ts';
import type { PodNetwork, SandboxSpec } from '../../runtime/sandboxes.ts';
import { groupParent } from './pod-group-name.ts';
import { containerName, podLabels, withoutLabels } from './identity.ts';
import { MIN_CPU_SHARES, LOG_CONFIG } from './resources.ts';

/**
 * System calls that Docker's default profile denies to a container without capabilities, and that affect or inspect more than the process
 * itself. The engine ignores names that the kernel does not have.
 */
const DENIED = [
  ...['acct', 'add_key', 'bpf', 'clock_adjtime', 'clock_settime', 'create_module', 'delete_module', 'fanotify_init'],
  ...['finit_module', 'fsconfig', 'fsmount', 'fsopen', 'fspick', 'get_mempolicy', 'init_module', 'io_uring_setup'],
  ...['ioperm', 'iopl', 'kcmp', 'kexec_file_load', 'kexec_load', 'keyctl', 'lookup_dcookie', 'mbind', 'migrate_pages'],
  ...['mount', 'mount_setattr', 'move_mount', 'move_pages', 'name_to_handle_at', 'nfsservctl', 'open_by_handle_at'],
  ...['open_tree', 'perf_event_open', 'personality', 'pivot_root', 'process_vm_readv', 'process_vm_writev', 'ptrace'],
  ...['quotactl', 'quotactl_fd', 'reboot', 'request_key', 'set_mempolicy', 'setns', 'settimeofday', 'stime', 'swapoff'],
  ...['swapon', 'syslog', 'umount', 'umount2', 'unshare', 'uselib', 'userfaultfd', 'vhangup', 'vm86', 'vm86old'],
];

/** Flags of clone(2) for new namespaces: mounts, control groups, host name, IPC, users, processes, network. */
const NEW_NAMESPACES = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000];
/** The error for a missing system call; programs then use clone(2). */
const ENOSYS = 38;

/**
 * The seccomp profile of sandboxes. A sandbox only waits, so a short list of denied calls protects it as well as Docker's default
 * profile. That profile has some 350 calls for three architectures, and the engine needs 17 ms to compile it for each sandbox. Calls of
 * other architectures than the machine's end the process.
 *
 * A container that shares the sandbox's process namespace and user may trace the sandbox, and use it to make calls that its own profile
 * denies. So the list covers more than a sandbox itself needs; for example, it denies new namespaces. clone3(2) is denied as a whole,
 * because its flags are in memory, where seccomp cannot check them.
 */
export const SANDBOX_SECCOMP = JSON.stringify({
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [
    { names: DENIED, action: 'SCMP_ACT_ERRNO' },
    ...NEW_NAMESPACES.map((flag) => ({
      names: ['clone'],
      action: 'SCMP_ACT_ERRNO',
      args: [{ index: 0, value: flag, valueTwo: flag, op: 'SCMP_CMP_MASKED_EQ' }],
    })),
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
  ],
});

/** The size that all Kubernetes runtimes use. A pod that needs more mounts an emptyDir of medium Memory there. */
const SHARED_MEMORY_BYTES = 64 * 2 ** 20;

/** The bridge to which the agent connects a sandbox. */
export interface SandboxBridge {
  readonly name: string;
  /** Whether the kernel supports IPv6, so that it can be disabled. */
  readonly kernelIpv6: 'present' | 'absent';
}

/** The engine's settings for a network without IPv6 addresses. */
const WITHOUT_IPV6 = { 'net.ipv6.conf.all.disable_ipv6': '1', 'net.ipv6.conf.default.disable_ipv6': '1' };

/** The engine's options for a pause container. The agent connects it to `bridge`; without `bridge`, the engine connects it. */
export function sandboxOptions(spec: SandboxSpec, bridge?: SandboxBridge): Docker.ContainerCreateOptions {
  const pod = spec.network.kind === 'pod' ? spec.network : undefined;
  return {
    name: containerName(spec.pod, SANDBOX_NAME, spec.attempt),
    Image: spec.image,
    // Disable the image's health check: only the pod's probes apply.
    Healthcheck: { Test: ['NONE'] },
    Hostname: pod === undefined ? '' : spec.hostname,
    Labels: {
      ...withoutLabels(spec.imageLabels),
      ...podLabels(spec),
      [LABEL.containerName]: SANDBOX_NAME,
      [LABEL.restartCount]: String(spec.attempt),
      ...(bridge === undefined || pod === undefined
        ? {}
        : { [LABEL.address]: pod.address, [LABEL.bridge]: bridge.name }),
    },
    HostConfig: {
      NetworkMode: bridge === undefined ? (pod?.name ?? 'host') : 'none',
      // The size of /dev/shm, which the pod's containers share. The engine's default can be configured differently.
      ShmSize: SHARED_MEMORY_BYTES,
      IpcMode: spec.ipc === 'host' ? 'host' : 'shareable',
      Runtime: spec.runtime,
      RestartPolicy: { Name: 'no' },
      ...(spec.seccomp === 'own' ? { SecurityOpt: [`seccomp=${SANDBOX_SECCOMP}`] } : {}),
      LogConfig: LOG_CONFIG,
      OomScoreAdj: spec.oomScoreAdj,
      CpuShares: MIN_CPU_SHARES,
      ...(spec.resources === undefined ? {} : { CgroupParent: groupParent({ owner: spec.owner, uid: spec.pod.uid }) }),
      // The engine copies the text before the address unchanged, so all names of an address get on one line, as in the kubelet's files.
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

/** With a disabled network, the container has a network namespace that the engine does not configure. */
function networking(
  pod: PodNetwork | undefined,
  bridge: unknown,
): Pick<Docker.ContainerCreateOptions, 'NetworkDisabled' | 'NetworkingConfig'> {
  if (pod === undefined) return {};
  if (bridge !== undefined) return { NetworkDisabled: true };
  return { NetworkingConfig: { EndpointsConfig: { [pod.name]: { IPAMConfig: { IPv4Address: pod.address } } } } };
}

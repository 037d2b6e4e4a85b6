import type { Pod } from '@gantry/objects';

interface SafeSysctl {
  readonly namespace: 'IPC' | 'Net';
  /** The first kernel version in which it is namespaced: major and minor. */
  readonly since?: readonly [number, number];
}

/** Sysctls that cannot affect other pods: the kubelet's list (pkg/kubelet/sysctl/safe_sysctls.go). */
const SAFE: ReadonlyMap<string, SafeSysctl> = new Map<string, SafeSysctl>([
  ['kernel.shm_rmid_forced', { namespace: 'IPC' }],
  ['net.ipv4.ip_local_port_range', { namespace: 'Net' }],
  ['net.ipv4.tcp_syncookies', { namespace: 'Net' }],
  ['net.ipv4.ping_group_range', { namespace: 'Net' }],
  ['net.ipv4.ip_unprivileged_port_start', { namespace: 'Net' }],
  ['net.ipv4.ip_local_reserved_ports', { namespace: 'Net', since: [3, 16] }],
  ['net.ipv4.tcp_keepalive_time', { namespace: 'Net', since: [4, 5] }],
  ['net.ipv4.tcp_keepalive_intvl', { namespace: 'Net', since: [4, 5] }],
  ['net.ipv4.tcp_keepalive_probes', { namespace: 'Net', since: [4, 5] }],
  ['net.ipv4.tcp_fin_timeout', { namespace: 'Net', since: [4, 6] }],
  ['net.ipv4.tcp_rmem', { namespace: 'Net', since: [4, 15] }],
  ['net.ipv4.tcp_wmem', { namespace: 'Net', since: [4, 15] }],
]);

/**
 * The dotted form of a sysctl's name: `net/ipv4/conf/eth0.1/mtu` and `net.ipv4.conf.eth0/1.mtu` are the same. The first separator in the
 * name decides which form it has.
 */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/')) : name;
}

/** The kubelet's message for sysctls that are not allowed on a node with this kernel; undefined when all are allowed. */
export function forbiddenSysctl({ spec }: Pod, kernel: string): string | undefined {
  for (const { name = '' } of spec?.securityContext?.sysctls ?? []) {
    const dotted = dottedSysctl(name);
    const known = SAFE.get(dotted);
    const quoted = JSON.stringify(dotted);
    if (known === undefined || !hasKernel(kernel, known.since)) return `forbidden sysctl: ${quoted} not allowlisted`;
    const isHosts = known.namespace === 'Net' ? spec?.hostNetwork === true : spec?.hostIPC === true;
    if (isHosts) return `forbidden sysctl: ${quoted} not allowed with host ${known.namespace} enabled`;
  }
  return undefined;
}

/** Whether a kernel (`6.1.0-13-amd64`) has at least this version; false for an unknown version. */
function hasKernel(kernel: string, since: SafeSysctl['since']): boolean {
  if (since === undefined) return true;
  const version = /^(\d+)\.(\d+)/.exec(kernel);
  if (version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  return major > since[0] || (major === since[0] && minor >= since[1]);
}

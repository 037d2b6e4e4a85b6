import type { Pod } from '@gantry/objects';

interface SafeSysctl {
  readonly namespace: 'IPC' | 'Net';
  /** The kernel that has it per namespace: major and minor version. */
  readonly since?: readonly [number, number];
}

/** Sysctls that cannot affect another pod: kubelet's list (pkg/kubelet/sysctl/safe_sysctls.go). */
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
 * A sysctl's name with dots between its parts: `net/ipv4/conf/eth0.1/mtu` and `net.ipv4.conf.eth0/1.mtu` are one. The first
 * separator says which of the two is meant.
 */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/')) : name;
}

/** Why a pod's sysctls may not be set on a node with this kernel, in kubelet's words; undefined when they may. */
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

/** Whether a kernel (`6.1.0-13-amd64`) is as new; one of unknown version is not. */
function hasKernel(kernel: string, since: SafeSysctl['since']): boolean {
  if (since === undefined) return true;
  const version = /^(\d+)\.(\d+)/.exec(kernel);
  if (version === null) return false;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  return major > since[0] || (major === since[0] && minor >= since[1]);
}

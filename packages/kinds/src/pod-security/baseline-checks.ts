import {
  APP_ARMOR_PREFIX,
  type LifecycleHandler,
  type Probe,
  SECCOMP_ANNOTATION,
  SECCOMP_PREFIX,
} from '@gantry/objects';
import {
  type CheckedContainer,
  type CheckedPod,
  containersNamed,
  containersOf,
  hasOwnUsers,
  namesWhere,
  quoted,
  type SecurityCheck,
  setters,
  sorted,
  type Violation,
  word,
} from './security-check.ts';

const CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const SYSCTLS: readonly { readonly since: number; readonly names: readonly string[] }[] = [
  {
    since: 0,
    names: [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ],
  },
  { since: 27, names: ['net.ipv4.ip_local_reserved_ports'] },
  {
    since: 29,
    names: [
      'net.ipv4.tcp_keepalive_time',
      'net.ipv4.tcp_fin_timeout',
      'net.ipv4.tcp_keepalive_intvl',
      'net.ipv4.tcp_keepalive_probes',
    ],
  },
  { since: 32, names: ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'] },
];
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
/** Allowed AppArmor and seccomp profile types. */
const PROFILES: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);

export function isSafeProfile(profile: { readonly type?: string }): boolean {
  return PROFILES.has(profile.type ?? '');
}

function appArmor(pod: CheckedPod): Violation | undefined {
  const own = pod.spec.securityContext?.appArmorProfile;
  const isBad = (profile: { readonly type?: string } | undefined) => profile !== undefined && !isSafeProfile(profile);
  const containers = containersOf(pod).filter(({ securityContext }) => isBad(securityContext?.appArmorProfile));
  const types = containers.map(({ securityContext }) => securityContext?.appArmorProfile?.type ?? '');
  const annotations = Object.entries(pod.metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(APP_ARMOR_PREFIX) && !isSafeAppArmor(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const values = [...sorted(isBad(own) ? [own?.type ?? '', ...types] : types), ...annotations];
  const who = [
    setters(
      isBad(own),
      containers.map(({ name }) => name),
    ),
    annotations.length === 0 ? '' : word('annotation', annotations.length),
  ].filter((text) => text !== '');
  if (who.length === 0) return undefined;
  return {
    reason: word('forbidden AppArmor profile', values.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

function isSafeAppArmor(value: string): boolean {
  return value === '' || value === 'runtime/default' || value.startsWith('localhost/');
}

function capabilities(pod: CheckedPod): Violation | undefined {
  const extra = ({ securityContext }: CheckedContainer) =>
    (securityContext?.capabilities?.add ?? []).filter((name) => !CAPABILITIES.has(name));
  const names = namesWhere(pod, (container) => extra(container).length > 0);
  if (names.length === 0) return undefined;
  const added = quoted(sorted(containersOf(pod).flatMap(extra)));
  return {
    reason: 'non-default capabilities',
    detail: `${containersNamed(names)} must not include ${added} in securityContext.capabilities.add`,
  };
}

function hostNamespaces({ spec }: CheckedPod): Violation | undefined {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name] === true);
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((name) => `${name}=true`).join(', ') };
}

function hostPathVolumes({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${word('volume', names.length)} ${quoted(names)}` };
}

function hostPorts(pod: CheckedPod): Violation | undefined {
  const own = ({ ports }: CheckedContainer) =>
    (ports ?? []).flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [String(hostPort)]));
  const names = namesWhere(pod, (container) => own(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sorted(containersOf(pod).flatMap(own));
  const uses = `${word('uses', names.length, 'use')} ${word('hostPort', ports.length)}`;
  return { reason: 'hostPort', detail: `${containersNamed(names)} ${uses} ${ports.join(', ')}` };
}

function otherHosts({ livenessProbe, readinessProbe, startupProbe, lifecycle }: CheckedContainer): readonly string[] {
  const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop];
  return handlers.flatMap((handler: Probe | LifecycleHandler | undefined) =>
    [handler?.httpGet?.host ?? '', handler?.tcpSocket?.host ?? ''].filter((host) => host !== ''),
  );
}

function hostsOfProbes(pod: CheckedPod): Violation | undefined {
  const names = sorted(namesWhere(pod, (container) => otherHosts(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sorted(containersOf(pod).flatMap(otherHosts));
  const uses = `${word('uses', names.length, 'use')} ${word('probe or lifecycle host', hosts.length)}`;
  return { reason: 'probe or lifecycle host', detail: `${containersNamed(names)} ${uses} ${quoted(hosts)}` };
}

function privileged(pod: CheckedPod): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${containersNamed(names)} must not set securityContext.privileged=true` };
}

/** /proc must be masked as by default. */
export function procMount(pod: CheckedPod): Violation | undefined {
  const own = ({ securityContext }: CheckedContainer) => securityContext?.procMount ?? 'Default';
  const names = namesWhere(pod, (container) => own(container) !== 'Default');
  if (names.length === 0) return undefined;
  const types = sorted(containersOf(pod).map(own)).filter((type) => type !== 'Default');
  return {
    reason: 'procMount',
    detail: `${containersNamed(names)} must not set securityContext.procMount to ${quoted(types)}`,
  };
}

function seccompAnnotations(pod: CheckedPod): Violation | undefined {
  const annotations = pod.metadata.annotations ?? {};
  const keys = [SECCOMP_ANNOTATION, ...containersOf(pod).map(({ name }) => SECCOMP_PREFIX + name)];
  const isSafe = (value: string) =>
    value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');
  const forbidden = sorted(
    keys.flatMap((key) => {
      const value = annotations[key];
      return value === undefined || isSafe(value) ? [] : [`${key}=${JSON.stringify(value)}`];
    }),
  );
  if (forbidden.length === 0) return undefined;
  return {
    reason: 'seccompProfile',
    detail: `forbidden ${word('annotation', forbidden.length)} ${forbidden.join(', ')}`,
  };
}

/** Seccomp must not be disabled. */
export function seccompProfiles(pod: CheckedPod): Violation | undefined {
  const own = pod.spec.securityContext?.seccompProfile;
  const podIsBad = own !== undefined && !isSafeProfile(own);
  const containers = containersOf(pod).filter(({ securityContext }) => {
    const profile = securityContext?.seccompProfile;
    return profile !== undefined && !isSafeProfile(profile);
  });
  const who = setters(
    podIsBad,
    containers.map(({ name }) => name),
  );
  if (who === '') return undefined;
  const types = containers.map(({ securityContext }) => securityContext?.seccompProfile?.type ?? '');
  const values = quoted(sorted(podIsBad ? [own.type ?? '', ...types] : types));
  return { reason: 'seccompProfile', detail: `${who} must not set securityContext.seccompProfile.type to ${values}` };
}

function seLinux(allowed: readonly string[]) {
  return (pod: CheckedPod): Violation | undefined => {
    const isBad = ({ type = '', user = '', role = '' }: { type?: string; user?: string; role?: string } = {}) =>
      !allowed.includes(type) || user !== '' || role !== '';
    const own = pod.spec.securityContext?.seLinuxOptions;
    const containers = containersOf(pod).filter(({ securityContext }) => isBad(securityContext?.seLinuxOptions));
    const who = setters(
      isBad(own),
      containers.map(({ name }) => name),
    );
    if (who === '') return undefined;
    const bad = [own, ...containers.map(({ securityContext }) => securityContext?.seLinuxOptions)];
    const types = sorted(bad.map((options) => options?.type ?? '').filter((type) => !allowed.includes(type)));
    const data = [
      ...(types.length === 0 ? [] : [`${word('type', types.length)} ${quoted(types)}`]),
      ...(bad.some((options) => (options?.user ?? '') !== '') ? ['user may not be set'] : []),
      ...(bad.some((options) => (options?.role ?? '') !== '') ? ['role may not be set'] : []),
    ];
    return {
      reason: 'seLinuxOptions',
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
    };
  };
}

function sysctls(since: number) {
  const allowed = new Set(SYSCTLS.filter((one) => one.since <= since).flatMap(({ names }) => names));
  return ({ spec }: CheckedPod): Violation | undefined => {
    const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !allowed.has(name));
    return names.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: names.join(', ') };
  };
}

function windowsHostProcess(pod: CheckedPod): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true);
  const who = setters(pod.spec.securityContext?.windowsOptions?.hostProcess === true, names);
  if (who === '') return undefined;
  return { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` };
}

const always = (id: string, violation: (pod: CheckedPod) => Violation | undefined): SecurityCheck => ({
  id,
  versions: [{ since: 0, violation }],
});

/** Checks of the baseline level, by id: they prevent known privilege escalations. */
export const BASELINE_CHECKS: readonly SecurityCheck[] = [
  always('appArmorProfile', appArmor),
  always('capabilities_baseline', capabilities),
  always('hostNamespaces', hostNamespaces),
  always('hostPathVolumes', hostPathVolumes),
  always('hostPorts', hostPorts),
  { id: 'hostProbesAndHostLifecycle', versions: [{ since: 34, violation: hostsOfProbes }] },
  always('privileged', privileged),
  {
    id: 'procMount',
    versions: [
      { since: 0, violation: procMount },
      { since: 35, violation: (pod) => (hasOwnUsers(pod) ? undefined : procMount(pod)) },
    ],
  },
  {
    id: 'seLinuxOptions',
    versions: [
      { since: 0, violation: seLinux(SELINUX_TYPES) },
      { since: 31, violation: seLinux([...SELINUX_TYPES, 'container_engine_t']) },
    ],
  },
  {
    id: 'seccompProfile_baseline',
    versions: [
      { since: 0, violation: seccompAnnotations },
      { since: 19, violation: seccompProfiles },
    ],
  },
  { id: 'sysctls', versions: SYSCTLS.map(({ since }) => ({ since, violation: sysctls(since) })) },
  always('windowsHostProcess', windowsHostProcess),
];

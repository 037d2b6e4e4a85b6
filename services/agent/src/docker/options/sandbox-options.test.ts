import { expect, it } from 'vitest';
import type { SandboxSpec } from '../../runtime/sandboxes.ts';
import { sandboxOptions, SANDBOX_SECCOMP } from './sandbox-options.ts';

const SPEC: SandboxSpec = {
  owner: { cluster: 'c', node: 'n' },
  pod: { uid: 'uid-1', namespace: 'default', name: 'web' },
  attempt: 0,
  image: 'sha256:5ac0',
  imageLabels: ['gantry.address'],
  ipc: 'own',
  seccomp: 'own',
  hostname: 'web',
  network: { kind: 'pod', name: 'pods', address: '10.1.0.9', nameServer: 'network' },
  hostAliases: [],
  dns: { servers: [], searches: [], options: [] },
  sysctls: { 'net.ipv4.tcp_syncookies': '0', 'net.ipv6.conf.all.disable_ipv6': '0' },
  oomScoreAdj: 0,
  graceSeconds: 30,
};
const BRIDGE = { name: 'br-1', kernelIpv6: 'present' } as const;

it('a sandbox that the agent connects has no network of the engine, and says what adoption needs', () => {
  const options = sandboxOptions(SPEC, BRIDGE);
  expect(options).toMatchObject({ NetworkDisabled: true, HostConfig: { NetworkMode: 'none' } });
  expect(options.Labels).toMatchObject({ 'gantry.address': '10.1.0.9', 'gantry.bridge': 'br-1' });
  expect(options.NetworkingConfig).toBeUndefined();
});

it('a sandbox that the engine connects has its network and address', () => {
  const options = sandboxOptions(SPEC);
  expect(options.HostConfig?.NetworkMode).toBe('pods');
  expect(options.NetworkDisabled).toBeUndefined();
  expect(options.NetworkingConfig?.EndpointsConfig?.['pods']).toEqual({ IPAMConfig: { IPv4Address: '10.1.0.9' } });
  // The empty label replaces the image's label of this name.
  expect(options.Labels).toMatchObject({ 'gantry.address': '' });
});

it('IPv6 is off as in the networks of the engine, where the kernel has it and the pod does not say otherwise', () => {
  const sysctls = (kernelIpv6: 'present' | 'absent') =>
    sandboxOptions(SPEC, { ...BRIDGE, kernelIpv6 }).HostConfig?.Sysctls;
  expect(sysctls('absent')).toEqual(SPEC.sysctls);
  expect(sysctls('present')).toEqual({ ...SPEC.sysctls, 'net.ipv6.conf.default.disable_ipv6': '1' });
});

it('a sandbox on the network of the host is not connected to anything', () => {
  const options = sandboxOptions({ ...SPEC, network: { kind: 'host' } });
  expect(options).toMatchObject({ Hostname: '', HostConfig: { NetworkMode: 'host' } });
  expect(options.NetworkDisabled).toBeUndefined();
});

it('the names of an address stand on one line of the hosts file', () => {
  const hostAliases = [
    { ip: '123.45.67.89', hostnames: ['foo', 'bar'] },
    { ip: 'fe80::1', hostnames: ['six'] },
    { ip: '10.0.0.1', hostnames: [] },
  ];
  expect(sandboxOptions({ ...SPEC, hostAliases }).HostConfig?.ExtraHosts).toEqual([
    'foo\tbar:123.45.67.89',
    'six:fe80::1',
  ]);
});

it('a sandbox has a seccomp profile of its own where the engine takes one', () => {
  const securityOf = (seccomp: SandboxSpec['seccomp']) =>
    sandboxOptions({ ...SPEC, seccomp }, BRIDGE).HostConfig?.SecurityOpt;
  expect(securityOf('own')).toEqual([expect.stringMatching(/^seccomp=\{.*"ptrace"/)]);
  expect(securityOf('engine-default')).toBeUndefined();
});

it('a sandbox can make no namespaces, as an ordinary container', () => {
  const { syscalls } = JSON.parse(SANDBOX_SECCOMP) as {
    readonly syscalls: readonly { readonly names: readonly string[]; readonly args?: readonly { value: number }[] }[];
  };
  const flags = syscalls.flatMap(({ names, args = [] }) => (names.includes('clone') ? args : []));
  // The mask of Docker's own profile.
  expect(flags.reduce((mask, { value }) => mask + value, 0)).toBe(2114060288);
  for (const name of ['unshare', 'setns', 'clone3'])
    expect(syscalls.some(({ names, args }) => names.includes(name) && args === undefined)).toBe(true);
});

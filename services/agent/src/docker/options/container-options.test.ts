import { describe, expect, it } from 'vitest';
import type { ContainerSpec, MountSpec } from '../../runtime/containers.ts';
import {
  containerOptions,
  deviceOptions,
  mountOptions,
  namespaceOptions,
  processOptions,
} from './container-options.ts';
import { identityOptions } from './identity.ts';
import { resourceOptions } from './resources.ts';
import { securityOptions } from './security.ts';

const GROUPS = [
  identityOptions,
  processOptions,
  namespaceOptions,
  mountOptions,
  deviceOptions,
  resourceOptions,
  securityOptions,
];
const SPEC: ContainerSpec = {
  owner: { cluster: 'c', node: 'n' },
  pod: { uid: 'uid-1', namespace: 'default', name: 'web' },
  name: 'main',
  attempt: 2,
  sandboxId: 'sandbox-0',
  hash: 'abc',
  restartDelayMs: 10_000,
  graceSeconds: 30,
  terminationMessagePath: '/state/message',
  image: 'sha256:5ac0',
  imageLabels: ['com.docker.compose.project', 'gantry.node', 'maintainer'],
  command: ['nginx'],
  args: ['-g'],
  workingDir: '/srv',
  env: [{ name: 'A', value: '1' }],
  stdin: 'open-once',
  terminal: 'tty',
  mounts: [{ hostPath: '/state/v', containerPath: '/v', access: 'read-only', propagation: 'none' }],
  devices: [{ hostPath: '/dev/loop0', containerPath: '/dev/xvda', access: 'read-write' }],
  resources: { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 2 ** 26 },
  group: 'pod',
  processLimit: 1000,
  oomScoreAdj: 100,
  security: {
    user: '1000:3000',
    groups: ['2000'],
    privilege: 'ordinary',
    capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    rootFilesystem: 'read-only',
    escalation: 'denied',
    seccomp: 'engine-default',
    appArmor: { kind: 'engine-default' },
    seLinux: {},
    proc: 'masked',
  },
  processes: 'shared-with-pod',
  ipc: 'shared-with-pod',
};

describe('the engine’s options for a container', () => {
  it.each([
    { processLimit: 1000, expected: 1000 },
    { processLimit: 'unlimited', expected: -1 },
  ] as const)('limit its processes: $processLimit', ({ processLimit, expected }) => {
    expect(containerOptions({ ...SPEC, processLimit }, 'full').HostConfig?.PidsLimit).toBe(expected);
  });

  it('come from groups of which no two set the same option', () => {
    const set = GROUPS.flatMap((group) => {
      const { container = {}, host = {} } = group(SPEC, 'full');
      return [...Object.keys(container), ...Object.keys(host).map((name) => `HostConfig.${name}`)];
    });
    expect(set.length).toBe(new Set(set).size);
    const { HostConfig = {}, ...options } = containerOptions(SPEC, 'full');
    const all = [...Object.keys(options), ...Object.keys(HostConfig).map((name) => `HostConfig.${name}`)];
    expect([...set, 'HostConfig.LogConfig'].sort()).toEqual(all.sort());
  });

  it('join the sandbox and carry the labels of adoption', () => {
    expect(containerOptions(SPEC, 'full')).toMatchObject({
      name: 'gantry_main_web_default_uid-1_2',
      Image: 'sha256:5ac0',
      Entrypoint: ['nginx'],
      Cmd: ['-g'],
      User: '1000:3000',
      Labels: {
        'com.docker.compose.project': '',
        maintainer: '',
        'gantry.cluster': 'c',
        'gantry.node': 'n',
        'io.kubernetes.pod.uid': 'uid-1',
        'io.kubernetes.container.restartCount': '2',
        'io.kubernetes.sandbox.id': 'sandbox-0',
        'gantry.restart-delay-ms': '10000',
        'gantry.termination-message': '/state/message',
      },
      HostConfig: {
        NetworkMode: 'container:sandbox-0',
        IpcMode: 'container:sandbox-0',
        PidMode: 'container:sandbox-0',
        RestartPolicy: { Name: 'no' },
        CgroupParent: expect.stringMatching(/^\/docker\/c-[0-9a-f]{12}-poduid-1$/) as string,
        CpuShares: 512,
        CpuPeriod: 100_000,
        CpuQuota: 50_000,
        Memory: 2 ** 26,
        MemorySwap: 2 ** 26,
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        Mounts: [
          {
            Type: 'bind',
            Source: '/state/v',
            Target: '/v',
            ReadOnly: true,
            BindOptions: { ReadOnlyNonRecursive: true },
          },
        ],
      },
    });
  });

  it.each<[Pick<MountSpec, 'access' | 'propagation'>, object]>([
    [
      { access: 'read-write', propagation: 'none' },
      { ReadOnly: false, BindOptions: {} },
    ],
    [
      { access: 'recursively-read-only', propagation: 'none' },
      { ReadOnly: true, BindOptions: {} },
    ],
    [
      { access: 'read-write', propagation: 'from-host' },
      { ReadOnly: false, BindOptions: { Propagation: 'rslave' } },
    ],
    [
      { access: 'read-write', propagation: 'both' },
      { ReadOnly: false, BindOptions: { Propagation: 'rshared' } },
    ],
  ])('mount %o', (mount, expected) => {
    const spec = { ...SPEC, mounts: [{ hostPath: '/state/v', containerPath: '/v', ...mount }] };
    const [mounted] = containerOptions(spec, 'full').HostConfig?.Mounts ?? [];
    expect(mounted).toEqual({ Type: 'bind', Source: '/state/v', Target: '/v', ...expected });
  });

  it('leave out of full privilege what the engine cannot give', () => {
    const privileged = { ...SPEC, security: { ...SPEC.security, privilege: 'privileged' as const } };
    expect(containerOptions(privileged, 'full').HostConfig).toMatchObject({ Privileged: true });
    const restricted = containerOptions(privileged, 'no-sys-resource').HostConfig;
    expect(restricted).toMatchObject({ CapAdd: ['ALL'], CapDrop: ['SYS_RESOURCE'] });
    expect(restricted).not.toHaveProperty('Privileged');
    const given = containerOptions(privileged, 'sys-resource-unknown').HostConfig;
    expect(given).toMatchObject({ CapAdd: ['ALL'], CapDrop: [] });
    expect(given).not.toHaveProperty('Privileged');
  });

  it('drop a capability that the engine does not know by not naming it', () => {
    const drop = ['CHOWN', 'SYS_RESOURCE', 'cap_sys_resource'];
    const dropping = { ...SPEC, security: { ...SPEC.security, capabilities: { add: [], drop } } };
    expect(containerOptions(dropping, 'no-sys-resource').HostConfig?.CapDrop).toEqual(drop);
    expect(containerOptions(dropping, 'sys-resource-unknown').HostConfig?.CapDrop).toEqual(['CHOWN']);
  });
});

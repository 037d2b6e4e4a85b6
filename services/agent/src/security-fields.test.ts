import { readFile } from 'node:fs/promises';
import type {
  AppArmorProfile,
  Capabilities,
  Container,
  Pod,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  SELinuxOptions,
  Sysctl,
  WindowsSecurityContextOptions,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { containerOptions } from './docker/options/container-options.ts';
import { sandboxOptions } from './docker/options/sandbox-options.ts';
import type { EngineInfo } from './runtime/engine.ts';
import { containerSpec } from './spec/container-spec.ts';
import { imageUser, type UserFiles } from './spec/image-user.ts';
import { podRejection, sandboxRefusal } from './spec/pod-rejection.ts';
import { sandboxSpec } from './spec/sandbox-spec.ts';
import { imageUserName } from './spec/security.ts';
import { container, ENGINE, pod } from './testing/pods.ts';

type Options = ReturnType<typeof containerOptions>;
type HostOptions = NonNullable<Options['HostConfig']>;

/** A pod's settings and their result on this node, which is one of the last five fields. */
interface Case {
  readonly pod?: Partial<PodSpec>;
  readonly context?: SecurityContext;
  readonly shared?: PodSecurityContext;
  readonly container?: Partial<Container>;
  readonly metadata?: Partial<Pod['metadata']>;
  readonly engine?: Partial<EngineInfo>;
  readonly imageUser?: string;
  /** The content of the image's files, if they were read. */
  readonly files?: UserFiles;
  /** The node's file under the requested name. */
  readonly localhostProfile?: string;
  /** The container's options at the engine. */
  readonly host?: HostOptions;
  readonly options?: Options;
  /** The sandbox's options at the engine. */
  readonly sandbox?: HostOptions;
  /** The reason with which the pod fails. */
  readonly rejected?: string;
  /** The reason for which the sandbox or the container is never created. */
  readonly refused?: string;
}

/** The reason why a field is not tested here: it is implemented elsewhere, or it needs nothing from a node. */
type Elsewhere = string;
/** Has every field of a type; otherwise the compiler complains. The test below checks the same for the generated text. */
type Table<Type> = Readonly<Record<keyof Required<Type>, readonly Case[] | Elsewhere>>;

const USERS: UserFiles = {
  passwd: Buffer.from('app:x:5:7::/:/bin/sh\nwww:x:33:33::/:/bin/sh\n'),
  group: Buffer.from('disk:x:50:app,www\n4000:x:0:\n'),
};

const WINDOWS = 'read by kubelets on Windows alone; a pod of that system is rejected (spec.os)';
const STRUCTURE = 'has a table of its own';
const API = 'read by the API server, the scheduler or controllers';
const VOLUMES = 'the agent’s volumes';

const APPARMOR: Table<AppArmorProfile> = {
  type: [
    { context: { appArmorProfile: { type: 'RuntimeDefault' } }, host: { SecurityOpt: ['apparmor=docker-default'] } },
    { context: { appArmorProfile: { type: 'Unconfined' } }, host: { SecurityOpt: ['apparmor=unconfined'] } },
    {
      context: { appArmorProfile: { type: 'RuntimeDefault' } },
      engine: { appArmor: 'disabled' },
      rejected: 'AppArmor',
    },
    {
      context: { appArmorProfile: { type: 'Unconfined' } },
      engine: { appArmor: 'disabled' },
      host: { SecurityOpt: ['apparmor=unconfined'] },
    },
    {
      shared: { appArmorProfile: { type: 'RuntimeDefault' } },
      context: { appArmorProfile: { type: 'Unconfined' } },
      host: { SecurityOpt: ['apparmor=unconfined'] },
    },
    {
      metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/main': 'runtime/default' } },
      host: { SecurityOpt: ['apparmor=docker-default'] },
    },
  ],
  localhostProfile: [
    {
      context: { appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-nginx' } },
      host: { SecurityOpt: ['apparmor=k8s-nginx'] },
    },
    {
      metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/main': 'localhost/k8s-nginx' } },
      host: { SecurityOpt: ['apparmor=k8s-nginx'] },
    },
    {
      context: { appArmorProfile: { type: 'Localhost', localhostProfile: 'k8s-nginx' } },
      engine: { appArmor: 'disabled' },
      rejected: 'AppArmor',
    },
  ],
};

const SECCOMP: Table<SeccompProfile> = {
  type: [
    { context: { seccompProfile: { type: 'RuntimeDefault' } }, host: { SecurityOpt: [] } },
    { context: { seccompProfile: { type: 'Unconfined' } }, host: { SecurityOpt: ['seccomp=unconfined'] } },
    { shared: { seccompProfile: { type: 'Unconfined' } }, host: { SecurityOpt: ['seccomp=unconfined'] } },
    {
      context: { seccompProfile: { type: 'RuntimeDefault' } },
      engine: { seccomp: 'unavailable' },
      refused: 'seccomp is not supported',
    },
    {
      context: { seccompProfile: { type: 'RuntimeDefault' } },
      engine: { seccomp: 'unconfined' },
      refused: 'seccomp is not supported: the default profile of the engine is unconfined',
    },
  ],
  localhostProfile: [
    {
      context: { seccompProfile: { type: 'Localhost', localhostProfile: 'strict.json' } },
      refused: 'cannot load seccomp profile "strict.json"',
    },
    {
      context: { seccompProfile: { type: 'Localhost', localhostProfile: 'strict.json' } },
      localhostProfile: '{"defaultAction":"SCMP_ACT_ERRNO"}',
      host: { SecurityOpt: ['seccomp={"defaultAction":"SCMP_ACT_ERRNO"}'] },
    },
    {
      shared: { seccompProfile: { type: 'Localhost', localhostProfile: 'strict.json' } },
      localhostProfile: '{}',
      engine: { seccomp: 'unavailable' },
      refused: 'seccomp is not supported',
    },
  ],
};

const SELINUX: Table<SELinuxOptions> = {
  user: [{ context: { seLinuxOptions: { user: 'u' } }, host: { SecurityOpt: ['label=user:u'] } }],
  role: [{ context: { seLinuxOptions: { role: 'r' } }, host: { SecurityOpt: ['label=role:r'] } }],
  type: [{ shared: { seLinuxOptions: { type: 't' } }, host: { SecurityOpt: ['label=type:t'] } }],
  level: [
    {
      shared: { seLinuxOptions: { type: 't' } },
      context: { seLinuxOptions: { level: 's0:c1,c2' } },
      host: { SecurityOpt: ['label=level:s0:c1,c2'] },
    },
  ],
};

const CAPABILITIES: Table<Capabilities> = {
  add: [{ context: { capabilities: { add: ['NET_ADMIN'] } }, host: { CapAdd: ['NET_ADMIN'], CapDrop: [] } }],
  drop: [{ context: { capabilities: { drop: ['ALL'] } }, host: { CapAdd: [], CapDrop: ['ALL'] } }],
};

const WINDOWS_OPTIONS: Table<WindowsSecurityContextOptions> = {
  gmsaCredentialSpec: WINDOWS,
  gmsaCredentialSpecName: WINDOWS,
  hostProcess: WINDOWS,
  runAsUserName: WINDOWS,
};

const sysctl = (name: string) => ({ sysctls: [{ name, value: '1' }] });
const SYSCTL: Table<Sysctl> = {
  name: [
    { shared: sysctl('net.ipv4.tcp_syncookies'), sandbox: { Sysctls: { 'net.ipv4.tcp_syncookies': '1' } } },
    { shared: sysctl('net/ipv4/tcp_syncookies'), sandbox: { Sysctls: { 'net.ipv4.tcp_syncookies': '1' } } },
    { shared: sysctl('kernel.msgmax'), rejected: 'SysctlForbidden' },
    { shared: sysctl('kernel/msgmax'), rejected: 'SysctlForbidden' },
    { shared: sysctl('net.ipv4.ip_forward'), rejected: 'SysctlForbidden' },
    { shared: sysctl('net.ipv4.tcp_rmem'), engine: { kernel: '4.14.336' }, rejected: 'SysctlForbidden' },
    { shared: sysctl('net.ipv4.tcp_rmem'), engine: { kernel: 'unknown' }, rejected: 'SysctlForbidden' },
    { shared: sysctl('net.ipv4.tcp_syncookies'), pod: { hostNetwork: true }, rejected: 'SysctlForbidden' },
    { shared: sysctl('kernel.shm_rmid_forced'), pod: { hostIPC: true }, rejected: 'SysctlForbidden' },
  ],
  value: [{ shared: sysctl('kernel.shm_rmid_forced'), sandbox: { Sysctls: { 'kernel.shm_rmid_forced': '1' } } }],
};

const CONTAINER_CONTEXT: Table<SecurityContext> = {
  allowPrivilegeEscalation: [
    { context: { allowPrivilegeEscalation: false }, host: { SecurityOpt: ['no-new-privileges'] } },
    { context: { allowPrivilegeEscalation: true }, host: { SecurityOpt: [] } },
  ],
  appArmorProfile: STRUCTURE,
  capabilities: STRUCTURE,
  privileged: [{ context: { privileged: true }, host: { Privileged: true } }],
  procMount: [{ context: { procMount: 'Unmasked' }, host: { MaskedPaths: [], ReadonlyPaths: [] } }],
  readOnlyRootFilesystem: [{ context: { readOnlyRootFilesystem: true }, host: { ReadonlyRootfs: true } }],
  // If a group is given, the engine does not add the groups of the image. They are added here.
  runAsGroup: [
    { context: { runAsUser: 5, runAsGroup: 6 }, files: USERS, options: { User: '5:6' }, host: { GroupAdd: ['50'] } },
    {
      context: { runAsGroup: 6 },
      imageUser: 'www:7',
      files: USERS,
      options: { User: '33:6' },
      host: { GroupAdd: ['50'] },
    },
    { context: { runAsUser: 5, runAsGroup: 6 }, refused: 'the groups of user 5 are not known' },
  ],
  runAsNonRoot: [
    { context: { runAsNonRoot: true }, refused: 'container has runAsNonRoot and image will run as root' },
    { context: { runAsNonRoot: true }, imageUser: '00', refused: 'image will run as root' },
    { context: { runAsNonRoot: true, runAsUser: 0 }, refused: "container's runAsUser breaks non-root policy" },
    { context: { runAsNonRoot: true }, imageUser: '7', host: { GroupAdd: [] } },
  ],
  runAsUser: [
    { context: { runAsUser: 5 }, options: { User: '5' }, host: { GroupAdd: [] } },
    {
      context: { runAsUser: 5 },
      files: USERS,
      options: { User: '5', Labels: { 'gantry.process-user': '5:7:7,50' } },
      host: { GroupAdd: [] },
    },
    {
      imageUser: 'www:7',
      files: USERS,
      options: { Labels: { 'gantry.process-user': '33:7:7' } },
      host: { GroupAdd: [] },
    },
  ],
  seLinuxOptions: STRUCTURE,
  seccompProfile: STRUCTURE,
  windowsOptions: STRUCTURE,
};

const POD_CONTEXT: Table<PodSecurityContext> = {
  appArmorProfile: STRUCTURE,
  fsGroup: [
    { shared: { fsGroup: 9 }, host: { GroupAdd: ['9'] } },
    {
      shared: { runAsUser: 5, fsGroup: 9 },
      files: USERS,
      options: { User: '5', Labels: { 'gantry.process-user': '5:7:7,50,9' } },
      host: { GroupAdd: ['9'] },
    },
    { shared: { fsGroup: 4000 }, host: { GroupAdd: ['4000'] } },
    // The engine would treat it as the name of a group.
    { shared: { fsGroup: 4000, supplementalGroupsPolicy: 'Merge' }, files: USERS, refused: 'has the name 4000 for' },
  ],
  fsGroupChangePolicy: VOLUMES,
  runAsGroup: [{ shared: { runAsUser: 5, runAsGroup: 6 }, files: USERS, options: { User: '5:6' } }],
  runAsNonRoot: [
    { shared: { runAsNonRoot: true }, refused: 'container has runAsNonRoot and image will run as root' },
    { shared: { runAsNonRoot: true }, context: { runAsNonRoot: false }, host: { GroupAdd: [] } },
  ],
  runAsUser: [
    { shared: { runAsUser: 5 }, options: { User: '5' } },
    { shared: { runAsUser: 5 }, context: { runAsUser: 6 }, options: { User: '6' } },
  ],
  seLinuxChangePolicy: VOLUMES,
  seLinuxOptions: STRUCTURE,
  seccompProfile: STRUCTURE,
  supplementalGroups: [
    { shared: { supplementalGroups: [8], fsGroup: 9 }, files: USERS, host: { GroupAdd: ['9', '8'] } },
    { shared: { runAsUser: 5, supplementalGroups: [50, 8, 7] }, files: USERS, host: { GroupAdd: ['50', '8'] } },
    { shared: { supplementalGroups: [8] }, refused: 'are not known' },
  ],
  supplementalGroupsPolicy: [
    {
      shared: { runAsUser: 5, supplementalGroupsPolicy: 'Merge' },
      files: USERS,
      options: { User: '5:7', Labels: { 'gantry.process-user': '5:7:7,50' } },
      host: { GroupAdd: ['50'] },
    },
    {
      shared: { runAsUser: 5, supplementalGroups: [8], supplementalGroupsPolicy: 'Strict' },
      files: USERS,
      options: { User: '5:7', Labels: { 'gantry.process-user': '5:7:7,8' } },
      host: { GroupAdd: ['8'] },
    },
    {
      shared: { supplementalGroups: [4000], supplementalGroupsPolicy: 'Strict' },
      files: USERS,
      refused: 'has the name 4000 for group 0',
    },
    { shared: { supplementalGroupsPolicy: 'Strict' }, refused: 'are not known' },
  ],
  sysctls: STRUCTURE,
  windowsOptions: STRUCTURE,
};

const POD_FIELDS: Table<PodSpec> = {
  activeDeadlineSeconds: 'a plan’s deadline',
  affinity: API,
  automountServiceAccountToken: API,
  containers: STRUCTURE,
  dnsConfig: 'the sandbox’s resolver',
  dnsPolicy: 'the sandbox’s resolver',
  enableServiceLinks: 'variables',
  ephemeralContainers: 'the fields of a container, with those that they cannot have refused by the API server',
  hostAliases: 'the sandbox’s hosts file',
  hostIPC: [{ pod: { hostIPC: true }, host: { IpcMode: 'host' }, sandbox: { IpcMode: 'host' } }],
  hostNetwork: [{ pod: { hostNetwork: true }, sandbox: { NetworkMode: 'host' } }],
  hostPID: [{ pod: { hostPID: true }, host: { PidMode: 'host' } }],
  hostUsers: [
    { pod: { hostUsers: true }, host: { IpcMode: 'container:sandbox-0' } },
    {
      pod: { hostUsers: false },
      refused: "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    },
  ],
  hostname: 'the sandbox’s name',
  hostnameOverride: 'the sandbox’s name',
  imagePullSecrets: API,
  initContainers: STRUCTURE,
  nodeName: API,
  nodeSelector: API,
  os: [
    { pod: { os: { name: 'linux' } }, host: { IpcMode: 'container:sandbox-0' } },
    { pod: { os: { name: 'windows' } }, rejected: 'PodOSNotSupported' },
    { pod: { os: { name: 'plan9' } }, rejected: 'PodOSNotSupported' },
    { metadata: { labels: { 'kubernetes.io/os': 'windows' } }, rejected: 'PodOSSelectorNodeLabelDoesNotMatch' },
  ],
  overhead: API,
  preemptionPolicy: API,
  priority: API,
  priorityClassName: API,
  readinessGates: 'the pod’s status',
  resourceClaims: [
    {
      pod: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }] },
      refused: 'no driver for dynamic resource allocation',
    },
    { pod: { resourceClaims: [] }, host: { IpcMode: 'container:sandbox-0' } },
  ],
  resources: API,
  restartPolicy: 'plans',
  runtimeClassName: 'runtime-handler.test.ts',
  schedulerName: API,
  schedulingGates: API,
  schedulingGroup: API,
  securityContext: STRUCTURE,
  serviceAccount: API,
  serviceAccountName: VOLUMES,
  setHostnameAsFQDN: 'the sandbox’s name',
  shareProcessNamespace: [{ pod: { shareProcessNamespace: true }, host: { PidMode: 'container:sandbox-0' } }],
  subdomain: 'the sandbox’s name',
  terminationGracePeriodSeconds: 'plans',
  tolerations: API,
  topologySpreadConstraints: API,
  volumes: VOLUMES,
};

const CONTAINER_FIELDS: Table<Container> = {
  args: 'the process',
  command: 'the process',
  env: 'variables',
  envFrom: 'variables',
  image: [{ container: { image: 'nginx:1.27' }, options: { Image: 'sha256:1' } }],
  imagePullPolicy: 'images',
  lifecycle: 'run-hook.test.ts: a hook reaches what a probe reaches',
  livenessProbe: 'probes',
  name: 'names and labels',
  ports: [
    // No port of the host is opened.
    { container: { ports: [{ containerPort: 80, hostPort: 8080 }] }, host: { IpcMode: 'container:sandbox-0' } },
  ],
  readinessProbe: 'probes',
  resizePolicy: 'plans',
  resources: 'control groups',
  restartPolicy: 'plans',
  restartPolicyRules: 'plans',
  securityContext: STRUCTURE,
  startupProbe: 'probes',
  stdin: 'the process',
  stdinOnce: 'the process',
  terminationMessagePath: VOLUMES,
  terminationMessagePolicy: VOLUMES,
  tty: 'the process',
  volumeDevices: VOLUMES,
  volumeMounts: VOLUMES,
  workingDir: 'the process',
};

const TABLES = {
  AppArmorProfile: APPARMOR,
  Capabilities: CAPABILITIES,
  Container: CONTAINER_FIELDS,
  PodSecurityContext: POD_CONTEXT,
  PodSpec: POD_FIELDS,
  SELinuxOptions: SELINUX,
  SeccompProfile: SECCOMP,
  SecurityContext: CONTAINER_CONTEXT,
  Sysctl: SYSCTL,
  WindowsSecurityContextOptions: WINDOWS_OPTIONS,
};

const OWNER = { cluster: 'c', node: 'n' };

/** Returns the result for a pod, in the order in which its worker asks. */
function outcomeOf(test: Case) {
  const securityContext = { securityContext: test.context ?? {}, ...test.container };
  const main = container('main', securityContext);
  const object = pod({ containers: [main], securityContext: test.shared ?? {}, ...test.pod }, {}, test.metadata);
  const engine = { ...ENGINE, ...test.engine };
  const { localhostProfile, files } = test;
  const image = { id: 'sha256:1', sizeBytes: 1, digests: [], user: test.imageUser ?? '', labels: [] };
  const rejected = podRejection(object, engine);
  if (rejected !== undefined) return { rejected: rejected.reason };
  const refused = sandboxRefusal(object);
  if (refused !== undefined) return { refused };
  const sandbox = sandboxSpec({
    owner: OWNER,
    pod: object,
    attempt: 0,
    image,
    network:
      object.spec?.hostNetwork === true
        ? { kind: 'host' }
        : { kind: 'pod', name: 'pods', address: '10.0.0.9', nameServer: 'network' },
    privilege: 'full',
    engine,
  });
  try {
    const found = files === undefined ? {} : { imageUser: imageUser(imageUserName(object, main, image).name, files) };
    const spec = containerSpec({
      ...found,
      owner: OWNER,
      pod: object,
      container: main,
      attempt: 0,
      sandboxId: 'sandbox-0',
      group: 'engine',
      restartDelayMs: 0,
      environment: new Map(),
      mounts: [],
      devices: [],
      image,
      engine,
      privilege: 'full',
      capacityBytes: 2 ** 30,
      ...(localhostProfile === undefined ? {} : { localhostProfile }),
      processLimit: 1000,
    });
    const options = containerOptions(spec, 'full');
    return { options, host: options.HostConfig, sandbox: sandboxOptions(sandbox).HostConfig };
  } catch (error) {
    return { refused: (error as Error).message };
  }
}

const CASES = Object.entries(TABLES).flatMap(([type, table]) =>
  Object.entries(table).flatMap(([field, cases]) =>
    typeof cases === 'string' ? [] : cases.map((test, i) => ({ name: `${type}.${field}, case ${i + 1}`, test })),
  ),
);

describe('every field that Pod Security knows is done or refused', () => {
  it.each(Object.keys(TABLES))('the table of %s has the fields of the generated type', async (type) => {
    const file = new URL('../../../packages/objects/src/generated/types.ts', import.meta.url);
    const text =
      new RegExp(`^export type ${type} = \\{\\n(.*?)^\\}`, 'ms').exec(await readFile(file, 'utf8'))?.[1] ?? '';
    const fields = [...text.matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1]);
    expect(Object.keys(TABLES[type as keyof typeof TABLES]).sort()).toEqual(fields.sort());
  });

  it.each(CASES)('$name', ({ test }) => {
    const { host, options, sandbox, rejected, refused } = test;
    const outcome = outcomeOf(test);
    if (rejected !== undefined) expect(outcome).toEqual({ rejected });
    else if (refused !== undefined) expect(outcome).toEqual({ refused: expect.stringContaining(refused) });
    else expect(outcome).toMatchObject({ options: options ?? {}, host: host ?? {}, sandbox: sandbox ?? {} });
  });
});

it.each<Case & { readonly processUser?: string }>([
  { processUser: '0:0:0' },
  { shared: { runAsUser: 5 }, processUser: '5:7:7,50' },
  { shared: { runAsUser: 5, fsGroup: 9 }, processUser: '5:7:7,50,9' },
  { shared: { runAsUser: 5, fsGroup: 7 }, processUser: '5:7:7,50' },
  { shared: { fsGroup: 9 }, imageUser: 'www', processUser: '33:33:33,50,9' },
  { shared: { fsGroup: 9 }, imageUser: 'www:disk', processUser: '33:50:50,9' },
  // The engine treats it as the name of a group, and the user of the process is not given.
  { shared: { fsGroup: 4000 } },
  { shared: { runAsUser: 5, fsGroup: 4000 } },
  { shared: { fsGroup: 4000 }, imageUser: '5:4000' },
])('a pod that asks nothing of the image runs the same whether or not the image was read: $shared', (test) => {
  const told = (files: Pick<Case, 'files'>) => {
    const { options, ...others } = outcomeOf({ ...test, ...files });
    const { 'gantry.process-user': processUser, ...labels } = options?.Labels ?? {};
    return { told: { ...others, options: { ...options, Labels: labels } }, processUser };
  };
  const read = told({ files: USERS });
  expect(read.told).toEqual(told({}).told);
  expect(read.told).toHaveProperty('host');
  expect(read.processUser).toBe(test.processUser);
});

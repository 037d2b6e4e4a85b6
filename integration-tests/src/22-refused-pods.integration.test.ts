import { existsSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import { type Event, EVENTS, type Pod, PODS, type PodSpec } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';

const cluster = new Cluster();
const ROOT_IMAGE = 'gantry.test/user-zero:1';
let namespace: Awaited<ReturnType<Cluster['namespace']>>;

beforeAll(async () => {
  const base = await cluster.docker(['create', 'busybox:1.36']);
  const changes = ['USER 00', `LABEL com.docker.compose.project=${cluster.clusterId}`];
  const labels = ['com.docker.compose.service=etcd-0', 'com.docker.compose.container-number=1'];
  changes.push(...labels.map((label) => `LABEL ${label}`), 'LABEL com.docker.compose.oneoff=False');
  await cluster.docker(['commit', ...changes.flatMap((change) => ['--change', change]), base, ROOT_IMAGE]);
  await cluster.docker(['rm', base]);
  namespace = await cluster.namespace();
  const labelled = ['label', 'namespace', namespace.name, 'pod-security.kubernetes.io/enforce=restricted'];
  await cluster.mustKubectl(labelled);
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
  await cluster.docker(['rmi', '-f', ROOT_IMAGE]);
});

/** A pod that the level `restricted` admits. */
function pod(name: string, spec: Partial<PodSpec>, image = 'busybox:1.36', user: object = { runAsUser: 1000 }): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, ...user },
      terminationGracePeriodSeconds: 0,
      ...spec,
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['sleep', '3600'],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}

async function untilStatus(name: string, done: (pod: Pod) => boolean): Promise<Pod> {
  return await eventually(`the pod ${name} is refused`, 120_000, async () => {
    const found = await cluster.get(PODS, namespace.name, name);
    return done(found) ? found : undefined;
  });
}

async function eventOf(name: string, reason: string): Promise<string> {
  return await eventually(`the pod ${name} has an Event ${reason}`, 120_000, async () => {
    const events: readonly Event[] = await cluster.list(EVENTS, namespace.name);
    return events.find((event) => event.involvedObject.name === name && event.reason === reason)?.message;
  });
}

const containersOf = (name: string) =>
  cluster.podContainers(
    [`label=io.kubernetes.pod.namespace=${namespace.name}`, `label=io.kubernetes.pod.name=${name}`],
    'all',
  );

test('a pod for another system is rejected, though restricted admits it with root', async () => {
  await cluster.create(
    PODS,
    namespace.name,
    pod('windows', { os: { name: 'windows' }, securityContext: { runAsNonRoot: true } }),
  );
  const { status } = await untilStatus('windows', ({ status }) => status?.phase === 'Failed');
  expect(status).toMatchObject({
    reason: 'PodOSNotSupported',
    message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
  });
  expect(await eventOf('windows', 'PodOSNotSupported')).toBe(
    "Failed to admit pod as the OS field doesn't match node OS",
  );
  expect(await containersOf('windows')).toEqual([]);
});

test('a pod that names a node without room for it fails there, and kubectl shows why', async () => {
  const [node] = await cluster.nodes();
  const named = (name: string, spec: Partial<PodSpec>): Pod => {
    const plain = pod(name, { nodeName: node?.metadata.name ?? '', ...spec });
    const [main] = plain.spec?.containers ?? [];
    if (main === undefined || plain.spec === undefined) throw new Error('a pod without a container');
    const resources = { requests: { cpu: name === 'thousand' ? '1000' : '1m' } };
    return { ...plain, spec: { ...plain.spec, containers: [{ ...main, resources }] } };
  };
  await cluster.create(PODS, namespace.name, named('thousand', {}));
  await cluster.create(PODS, namespace.name, named('elsewhere', { nodeSelector: { disk: 'none' } }));
  const { status } = await untilStatus('thousand', ({ status }) => status?.phase === 'Failed');
  const message = /^Node didn't have enough resource: cpu, requested: 1000000, used: \d+, capacity: \d+$/;
  expect(status?.reason).toBe('OutOfcpu');
  expect(status?.message).toMatch(new RegExp(message.source.replace('^', '^Pod was rejected: ')));
  expect(await eventOf('thousand', 'OutOfcpu')).toMatch(message);
  await untilStatus('elsewhere', ({ status }) => status?.phase === 'Failed');
  const affinity = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
  expect(await eventOf('elsewhere', 'NodeAffinity')).toBe(affinity);
  const shown = await cluster.mustKubectl(['get', 'pods', '-n', namespace.name, '--no-headers']);
  expect(shown).toMatch(/^elsewhere +0\/1 +NodeAffinity +0 /m);
  expect(shown).toMatch(/^thousand +0\/1 +OutOfcpu +0 /m);
  expect([...(await containersOf('thousand')), ...(await containersOf('elsewhere'))]).toEqual([]);
});

test('a pod with users of its own never runs with those of the host', async () => {
  const root = pod('users', {
    hostUsers: false,
    securityContext: { runAsUser: 0, seccompProfile: { type: 'RuntimeDefault' } },
  });
  await cluster.create(PODS, namespace.name, root);
  const message = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  expect(await eventOf('users', 'FailedCreatePodSandBox')).toBe(`Failed to create pod sandbox: ${message}`);
  expect(await containersOf('users')).toEqual([]);
});

test('a pod sees all of /proc only with users of its own', async () => {
  await using own = await cluster.namespace();
  const unmasked = (name: string, hostUsers: boolean): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostUsers,
      containers: [{ name: 'main', image: 'busybox:1.36', securityContext: { procMount: 'Unmasked' } }],
    },
  });
  await expect(cluster.create(PODS, own.name, unmasked('host', true))).rejects.toThrow(
    'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
  );
  await cluster.create(PODS, own.name, unmasked('own', false));
  await eventually('the node refuses the pod', 120_000, async () =>
    (await cluster.list(EVENTS, own.name)).some(({ reason }) => reason === 'FailedCreatePodSandBox'),
  );
  expect(await cluster.podContainers([`label=io.kubernetes.pod.namespace=${own.name}`], 'all')).toEqual([]);
});

/** In a namespace without a level of Pod Security: what a pod asks for, and the words by which it is refused. */
interface RefusedPod {
  readonly spec?: Partial<PodSpec>;
  readonly container?: Partial<NonNullable<PodSpec['containers']>[number]>;
  readonly context?: PodSpec['securityContext'];
  /** The pod fails with this reason. */
  readonly rejected?: string;
  /** It waits, and an Event of this reason says why. */
  readonly event?: string;
  readonly message: RegExp;
}

const projected = (source: object) => ({ spec: { volumes: [{ name: 'v', projected: { sources: [source] } }] } });
const SMALL_CLAIM = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } };

/** Whether the kernel has the file system already or as a module, which the first mount loads. */
function hostHasNfs(): boolean {
  const modules = `/lib/modules/${release()}/kernel/fs/nfs`;
  return existsSync(modules) || /^(?:nodev)?\s*nfs4?$/m.test(readFileSync('/proc/filesystems', 'utf8'));
}

const REFUSED: Readonly<Record<string, RefusedPod>> = {
  nfs: {
    spec: { volumes: [{ name: 'v', nfs: { server: '127.0.0.1', path: '/none' } }] },
    event: 'FailedMount',
    // A kernel that has NFS finds no server there.
    message: hostHasNfs()
      ? /^MountVolume\.SetUp failed for volume "v" : mounting 127\.0\.0\.1:\/none failed: /
      : /^MountVolume\.SetUp failed for volume "v" : NFS volumes need the NFS client of the host's kernel, and the kernel of this node's host has none/,
  },
  device: {
    spec: { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: SMALL_CLAIM } } }] },
    container: { volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] },
    event: 'FailedMount',
    message: /volume v has volumeMode Filesystem, but is specified in volumeDevices/,
  },
  csi: {
    spec: { volumes: [{ name: 'v', csi: { driver: 'csi.example.com' } }] },
    event: 'FailedMount',
    message: /volumes of kind csi are not supported by this node/,
  },
  'trust-bundle': {
    ...projected({ clusterTrustBundle: { name: 'bundle', path: 'bundle.pem' } }),
    event: 'FailedMount',
    message:
      /this cluster does not serve ClusterTrustBundles of certificates\.k8s\.io\/v1beta1 \(GANTRY_RUNTIME_CONFIG\)/,
  },
  'pod-certificate': {
    ...projected({
      podCertificate: { signerName: 'example.com/signer', keyType: 'ED25519', credentialBundlePath: 'bundle.pem' },
    }),
    event: 'FailedMount',
    message: /projected source podCertificate is not supported/,
  },
  'huge-pages': {
    spec: { volumes: [{ name: 'v', emptyDir: { medium: 'HugePages' } }] },
    event: 'FailedMount',
    message: /unknown storage medium "HugePages"/,
  },
  'resource-claim': {
    spec: { resourceClaims: [{ name: 'device', resourceClaimName: 'device' }] },
    event: 'FailedCreatePodSandBox',
    message: /no driver for dynamic resource allocation/,
  },
  'long-name': {
    spec: { hostname: 'h'.repeat(60), subdomain: 'sub', setHostnameAsFQDN: true },
    event: 'FailedCreatePodSandBox',
    message: /Failed to construct FQDN from pod hostname and cluster domain/,
  },
  'no-profile': {
    context: { seccompProfile: { type: 'Localhost', localhostProfile: 'none.json' } },
    event: 'Failed',
    message: /cannot load seccomp profile "none.json"/,
  },
  'unsafe-sysctl': {
    context: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] },
    rejected: 'SysctlForbidden',
    message: /forbidden sysctl: "kernel\.msgmax" not allowlisted/,
  },
};

test.each(Object.entries(REFUSED))(
  'what this node cannot do is refused with a reason, and nothing of it runs: %s',
  async (name, refused) => {
    await using own = await cluster.namespace();
    const { spec, container, context = {}, rejected, event, message } = refused;
    const main = { name: 'main', image: 'busybox:1.36', command: ['sleep', '3600'], ...container };
    const mounted = container?.volumeDevices === undefined ? (spec?.volumes ?? []) : [];
    const volumeMounts = mounted.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
    const created: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 0,
        securityContext: context,
        ...spec,
        containers: [{ ...main, volumeMounts }],
      },
    };
    await cluster.create(PODS, own.name, created);
    const said = await eventually(`the pod ${name} is refused`, 120_000, async () => {
      const { status } = await cluster.get(PODS, own.name, name);
      if (rejected !== undefined) return status?.phase === 'Failed' ? `${status.reason}: ${status.message}` : undefined;
      const events: readonly Event[] = await cluster.list(EVENTS, own.name);
      const all = events.flatMap(({ involvedObject, reason, message: text = '' }) =>
        involvedObject.name === name && reason === event ? [text] : [],
      );
      // The phase of a claim follows its binding, so the node may read the claim in between and say so first, as in Kubernetes.
      const found = all.find((text) => message.test(text));
      if (found === undefined && all.length > 0) throw new Error(`it says ${all.join(', ')}`);
      return found;
    });
    expect(said).toMatch(message);
    if (rejected !== undefined) expect(said).toMatch(new RegExp(`^${rejected}: `));
    const labels = [`label=io.kubernetes.pod.namespace=${own.name}`, 'label=io.kubernetes.container.name=main'];
    expect(await cluster.podContainers(labels)).toEqual([]);
  },
);

test('an AppArmor profile is enforced by an engine that has AppArmor, and a pod that asks for one is refused elsewhere', async () => {
  await using own = await cluster.namespace();
  const options = JSON.parse(await cluster.docker(['info', '-f', '{{json .SecurityOptions}}'])) as readonly string[];
  const hasAppArmor = options.some((option) => option.split(',').includes('name=apparmor'));
  const main = { name: 'main', image: 'busybox:1.36', command: ['sh', '-c', 'cat /proc/self/attr/current || true'] };
  const withProfile = (name: string, type: string): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { restartPolicy: 'Never', securityContext: { appArmorProfile: { type } }, containers: [main] },
  });
  await cluster.create(PODS, own.name, withProfile('unconfined', 'Unconfined'));
  await cluster.create(PODS, own.name, withProfile('confined', 'RuntimeDefault'));
  const endOf = (name: string) =>
    eventually(`the pod ${name} has ended`, 120_000, async () => {
      const { status } = await cluster.get(PODS, own.name, name);
      return ['Succeeded', 'Failed'].includes(status?.phase ?? '') ? status : undefined;
    });
  const logs = (name: string) => cluster.mustKubectl(['logs', '-n', own.name, name]);
  expect(await endOf('unconfined')).toMatchObject({ phase: 'Succeeded' });
  const confined = await endOf('confined');
  if (hasAppArmor) {
    expect(confined.phase).toBe('Succeeded');
    expect([await logs('unconfined'), await logs('confined')]).toEqual(['unconfined\n', 'docker-default (enforce)\n']);
  } else {
    const message = 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host';
    expect(confined).toMatchObject({ phase: 'Failed', reason: 'AppArmor', message });
  }
});

test('an image whose user is written 00 does not run as root', async () => {
  await cluster.create(PODS, namespace.name, pod('zero', {}, ROOT_IMAGE, {}));
  const { status } = await untilStatus(
    'zero',
    ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
  );
  expect(status?.containerStatuses?.[0]?.state?.waiting?.message).toMatch(
    /^container has runAsNonRoot and image will run as root \(pod: "zero_/,
  );
});

test('an image with labels of Compose takes over no service', async () => {
  const before = await cluster.containers();
  await cluster.create(PODS, namespace.name, pod('labels', {}, ROOT_IMAGE));
  await untilStatus('labels', ({ status }) => status?.phase === 'Running');
  expect(await containersOf('labels')).toHaveLength(2);
  expect(await cluster.containers()).toEqual(before);
  await cluster.compose(['up', '-d', '--no-build', '--no-recreate', 'etcd-0']);
  expect(await cluster.containers('etcd-0')).toEqual(before.filter(({ service }) => service === 'etcd-0'));
});

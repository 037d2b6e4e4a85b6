/** What pods get of their node and its host: paths, volumes that follow the API, shares, bounds of the disk. */
import { LEASES, PODS, quantityMilli, quantityValue } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { namespacePods } from '../harness/namespace-pods.ts';
import { scriptPod } from '../harness/script-pod.ts';
import { recordWatch } from '../harness/recorded-watch.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

const inNamespace = (namespace: string) => namespacePods(cluster, namespace);

const pod = (name: string, script: string, volumes: string, mounts: string, spec = '') =>
  scriptPod(name, script, `volumeMounts: [${mounts}]`, `volumes: [${volumes}]\n${spec}`);

test('paths of the host are what their type says, or are made, or are refused with a reason', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  const folder = `/tmp/gantry-${namespace.name}`;
  const volume = (path: string, type: string) => `{ name: host, hostPath: { path: ${path}, type: ${type} } }`;
  const mount = '{ name: host, mountPath: /host }';
  const part = (subPath: string) => `{ name: host, mountPath: /host, subPath: ${subPath} }`;
  try {
    const [node] = await cluster.nodes();
    const there = `  nodeName: ${node?.metadata.name}`;
    await apply(
      pod('maker', 'echo made > /host/file', volume(`${folder}/a/b`, 'DirectoryOrCreate'), mount, there) +
        pod('device', 'test -c /host && echo yes > /host', volume('/dev/null', 'CharDevice'), mount, there) +
        pod('socket', 'test -S /host', volume('/var/run/docker.sock', 'Socket'), mount, there) +
        pod('no-file', 'true', volume('/tmp', 'File'), mount, there) +
        pod('part', 'test -S /host', volume('/var/run', 'Directory'), part('docker.sock'), there) +
        pod('no-part', 'true', volume('/dev', 'Directory'), part('zero'), there),
    );
    for (const name of ['maker', 'device', 'socket', 'part']) await untilSucceeded(name);
    await apply(
      pod(
        'reader',
        'cat /host; ! echo x > /host',
        volume(`${folder}/a/b/file`, 'File'),
        `{ name: host, mountPath: /host, readOnly: true }`,
      ),
    );
    await untilSucceeded('reader');
    expect(await kubectl(['logs', 'reader'])).toContain('made\n');
    await untilDescribed('no-file', 'hostPath type check failed: /tmp is not a file');
    await untilDescribed('no-part', 'failed to prepare subPath for volumeMount "host" of container "main"');
    await kubectl(['delete', 'pod', '--all']);
    expect(
      await cluster.docker(['run', '--rm', '-v', `${folder}:/host`, 'busybox:1.36', 'cat', '/host/a/b/file']),
    ).toBe('made');
  } finally {
    await cluster.docker([
      'run',
      '--rm',
      '-v',
      '/tmp:/host',
      'busybox:1.36',
      'rm',
      '-rf',
      `/host/gantry-${namespace.name}`,
    ]);
  }
});

test('the group of a pod owns its volumes, and mounts spread as far as they are asked to', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  await kubectl(['create', 'secret', 'generic', 'keys', '--from-literal=password=sesame']);
  const volumes = [
    '{ name: disk, emptyDir: {} }',
    '{ name: memory, emptyDir: { medium: Memory, sizeLimit: 1Mi } }',
    '{ name: keys, secret: { secretName: keys, defaultMode: 0400 } }',
  ];
  const mounts = ['disk', 'memory', 'keys'].map((name) => `{ name: ${name}, mountPath: /v/${name} }`);
  const script = [
    'stat -c "%n %g %a" /v/disk /v/memory /v/keys/..data/password',
    'cat /v/keys/password; echo',
    'echo mine > /v/disk/file; echo mine > /v/memory/file; stat -c "%n %g" /v/disk/file /v/memory/file',
    'stat -c "%u %g %a" /var/run/secrets/kubernetes.io/serviceaccount/..data/token',
    'df -k /v/memory | tail -1 | tr -s " " | cut -d" " -f2',
  ].join(';');
  const security = '  securityContext: { runAsUser: 1234, runAsGroup: 5678, fsGroup: 4321, runAsNonRoot: true }';
  await apply(pod('owner', script, volumes.join(','), mounts.join(','), security));
  await untilSucceeded('owner');
  expect((await kubectl(['logs', 'owner'])).trim().split('\n')).toEqual([
    '/v/disk 4321 2777',
    '/v/memory 4321 3777',
    '/v/keys/..data/password 4321 440',
    'sesame',
    '/v/disk/file 4321',
    '/v/memory/file 4321',
    '1234 4321 640',
    '1024',
  ]);

  // What one container mounts in a shared volume appears in another one that asked for it, and is gone with the pod.
  await apply(`
apiVersion: v1
kind: Pod
metadata: { name: mounts }
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, 'until cat /shared/inner/file; do sleep 0.1; done']
      volumeMounts: [{ name: shared, mountPath: /shared, mountPropagation: HostToContainer }]
    - name: mounter
      image: busybox:1.36
      command: [sh, -c, 'mkdir /shared/inner && mount -t tmpfs none /shared/inner && echo inner > /shared/inner/file']
      securityContext: { privileged: true }
      volumeMounts: [{ name: shared, mountPath: /shared, mountPropagation: Bidirectional }]
  volumes: [{ name: shared, emptyDir: {} }]
`);
  await untilSucceeded('mounts');
  const { metadata } = await cluster.get(PODS, namespace.name, 'mounts');
  await kubectl(['delete', 'pod', 'mounts']);
  const mountsOfHost = ['run', '--rm', '--pid=host', 'busybox:1.36', 'cat', '/proc/1/mountinfo'];
  // The API server lets a pod that runs nothing go before its node has removed what is left of it.
  await eventually(
    'no mount of the pod is left',
    PATIENCE_MS,
    async () => !(await cluster.docker(mountsOfHost)).includes(metadata.uid ?? ''),
  );
});

test('a read-only volume is so with all that is mounted in it, where the engine can; a pod that insists is refused elsewhere', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  const modes = { insists: 'Enabled', prefers: 'IfPossible', plain: 'Disabled' } as const;
  /** A sidecar mounts something in the volume before the container starts, which tries to write to both. */
  const reader = (name: keyof typeof modes) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  initContainers:
    - name: mounter
      image: busybox:1.36
      restartPolicy: Always
      command: [sh, -c, 'mkdir /shared/inner && mount -t tmpfs none /shared/inner && touch /shared/inner/file; sleep 1000']
      securityContext: { privileged: true }
      startupProbe: { exec: { command: [test, -f, /shared/inner/file] }, periodSeconds: 1, timeoutSeconds: 60, failureThreshold: 60 }
      volumeMounts: [{ name: shared, mountPath: /shared, mountPropagation: Bidirectional }]
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, 'test -f /v/inner/file && for path in /v /v/inner; do touch $path/new 2>/dev/null && echo yes || echo no; done']
      volumeMounts: [{ name: shared, mountPath: /v, readOnly: true, recursiveReadOnly: ${modes[name]} }]
  volumes: [{ name: shared, emptyDir: {} }]
---
`;
  const [major = 0] = (await cluster.docker(['version', '-f', '{{.Server.Version}}'])).split('.').map(Number);
  const [kernelMajor = 0, kernelMinor = 0] = (await cluster.docker(['info', '-f', '{{.KernelVersion}}']))
    .split('.')
    .map(Number);
  const isSupported = major >= 25 && (kernelMajor > 5 || (kernelMajor === 5 && kernelMinor >= 12));
  const handlers = (await cluster.nodes())[0]?.status?.runtimeHandlers ?? [];
  expect(handlers.map(({ features }) => features?.recursiveReadOnlyMounts)).toContain(isSupported);
  await apply(reader('insists') + reader('prefers') + reader('plain'));
  const seen = async (name: keyof typeof modes) => {
    await untilSucceeded(name);
    const { status } = await cluster.get(PODS, namespace.name, name);
    return [
      await kubectl(['logs', name, '-c', 'main']),
      status?.containerStatuses?.[0]?.volumeMounts?.[0]?.recursiveReadOnly,
    ];
  };
  const [recursive, only] = [
    ['no\nno\n', 'Enabled'],
    ['no\nyes\n', 'Disabled'],
  ] as const;
  expect(await seen('plain')).toEqual(only);
  expect(await seen('prefers')).toEqual(isSupported ? recursive : only);
  if (isSupported) expect(await seen('insists')).toEqual(recursive);
  else {
    const why = 'requested recursive read-only mode, but it is not supported by the runtime';
    await untilDescribed('insists', `failed to resolve recursive read-only mode: volume "shared" ${why}`);
  }
  await kubectl(['delete', 'pod', '--all']);
});

test('nodes share their host, and pods see what is theirs of it', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const nodes = await cluster.nodes();
  const sum = (name: string) =>
    nodes.map(({ status }) => status?.capacity?.[name] ?? '').reduce((total, text) => total + quantityMilli(text), 0);
  const host = JSON.parse(await cluster.docker(['info', '-f', '{{json .}}'])) as { NCPU: number; MemTotal: number };
  expect(Math.abs(sum('cpu') / 1000 - host.NCPU)).toBeLessThan(0.01);
  expect(Math.abs(sum('memory') / 1000 / host.MemTotal - 1)).toBeLessThan(0.001);
  const sizes =
    nodes[0]?.status?.images?.map(({ names = [], sizeBytes = 0 }) => (names.length > 0 ? sizeBytes : NaN)) ?? [];
  expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
  expect(sizes.length).toBeGreaterThan(0);
  expect(nodes[0]?.status?.runtimeHandlers?.map(({ name }) => name)).toContain('runc');

  const reference = (name: string, resource: string) =>
    `{ name: ${name}, valueFrom: { resourceFieldRef: { containerName: main, resource: ${resource} } } }`;
  const variables = `      env: [${reference('CPUS', 'limits.cpu')}, ${reference('MEMORY', 'limits.memory')}, ${reference('OWN', 'requests.memory')}]
      resources: { requests: { memory: 16Mi } }
`;
  const manifest = pod('limits', 'echo $CPUS $MEMORY $OWN', '', '').replace(
    '      volumeMounts',
    `${variables}      volumeMounts`,
  );
  await apply(manifest);
  await untilSucceeded('limits');
  const placed = (await cluster.get(PODS, namespace.name, 'limits')).spec?.nodeName;
  const allocatable = nodes.find(({ metadata }) => metadata.name === placed)?.status?.allocatable ?? {};
  const expected = [
    Math.ceil(quantityMilli(allocatable['cpu'] ?? '') / 1000),
    quantityValue(allocatable['memory'] ?? ''),
    16 * 2 ** 20,
  ];
  const shown = (await kubectl(['logs', 'limits'])).trim().split(' ').map(Number);
  expect(shown[0]).toBe(expected[0]);
  expect(Math.abs((shown[1] ?? 0) - (expected[1] ?? 0))).toBeLessThan(1024);
  expect(shown[2]).toBe(expected[2]);
});

test('a node says what it is, where it is reached, and that it is alive', async () => {
  const [node] = await cluster.nodes();
  const { name = '' } = node?.metadata ?? {};
  const info = JSON.parse(await cluster.docker(['info', '-f', '{{json .}}'])) as Readonly<Record<string, string>>;
  const onHost = async (...command: readonly string[]) =>
    await cluster.docker(['run', '--rm', '--network', 'host', 'busybox:1.36', ...command]);
  expect(node?.status?.nodeInfo).toMatchObject({
    kubeletVersion: 'v1.36.2',
    containerRuntimeVersion: `docker://${info['ServerVersion']}`,
    kernelVersion: info['KernelVersion'],
    osImage: info['OperatingSystem'],
    operatingSystem: 'linux',
    architecture: { x86_64: 'amd64', aarch64: 'arm64' }[info['Architecture'] ?? ''],
    bootID: await onHost('cat', '/proc/sys/kernel/random/boot_id'),
  });
  const addressOf = (kind: string) => node?.status?.addresses?.find(({ type }) => type === kind)?.address ?? '';
  expect(addressOf('Hostname')).toBe(name);
  const addresses = await onHost('ip', '-4', 'addr');
  for (const kind of ['InternalIP', 'ExternalIP']) expect(addresses).toContain(` ${addressOf(kind)}/`);

  await using watch = await recordWatch(cluster, LEASES, 'kube-node-lease');
  const renewals = () =>
    watch.states.flatMap((leases) => {
      const lease = leases.find(({ metadata }) => metadata.name === name);
      return lease?.spec?.holderIdentity === name ? [lease.spec.renewTime ?? ''] : [];
    });
  await eventually('its Lease is renewed again and again', PATIENCE_MS, () => new Set(renewals()).size >= 4);
  expect(renewals()).toEqual(renewals().toSorted());
});

test('a volume shows a change of its ConfigMap, its Secret and its pod within seconds, and containers know the Services', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply } = inNamespace(namespace.name);
  await kubectl(['create', 'configmap', 'settings', '--from-literal=mode=slow']);
  await kubectl(['create', 'secret', 'generic', 'keys', '--from-literal=key=old']);
  await kubectl(['create', 'service', 'clusterip', 'cart-db', '--tcp=80:8080']);
  const volumes = [
    '{ name: settings, configMap: { name: settings } }',
    '{ name: all, projected: { sources: [{ secret: { name: keys } }, { downwardAPI: { items: [{ path: labels, fieldRef: { fieldPath: metadata.labels } }] } }] } }',
  ];
  const mounts = '{ name: settings, mountPath: /settings }, { name: all, mountPath: /all }';
  const script =
    'echo $CART_DB_SERVICE_PORT $KUBERNETES_SERVICE_PORT_HTTPS; until grep -q fast /settings/mode && grep -q new /all/key && grep -q blue /all/labels; do sleep 0.2; done; echo seen; sleep 1000';
  await apply(pod('watcher', script, volumes.join(','), mounts));
  await eventually('the container runs', PATIENCE_MS, async () =>
    (await kubectl(['logs', 'watcher'])).includes('80 443'),
  );
  await kubectl(['patch', 'configmap', 'settings', '-p', '{"data":{"mode":"fast"}}']);
  await kubectl(['patch', 'secret', 'keys', '-p', '{"stringData":{"key":"new"}}']);
  await kubectl(['label', 'pod', 'watcher', 'color=blue']);
  const startedAt = performance.now();
  await eventually('all files have changed', PATIENCE_MS, async () =>
    (await kubectl(['logs', 'watcher'])).includes('seen'),
  );
  // Far less than the period after which volumes are read again anyway.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
  await kubectl(['delete', 'pod', 'watcher']);
});

test('a pod that writes more to the disk than it may is evicted, with the reason that kubelet gives', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply } = inNamespace(namespace.name);
  const write = (path: string) => `dd if=/dev/zero of=${path} bs=1M count=4; sleep 1000`;
  const mount = '{ name: scratch, mountPath: /scratch }';
  const limits = '      resources: { limits: { ephemeral-storage: 2Mi } }\n      volumeMounts';
  await apply(
    pod('volume', write('/scratch/file'), '{ name: scratch, emptyDir: { sizeLimit: 2Mi } }', mount) +
      pod('layer', write('/file'), '', '').replace('      volumeMounts', limits) +
      pod('log', 'yes | head -c 4000000; sleep 1000', '', '').replace('      volumeMounts', limits) +
      pod('modest', write('/scratch/file'), '{ name: scratch, emptyDir: { sizeLimit: 8Mi } }', mount),
  );
  const total = 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ';
  const messages: Readonly<Record<string, string>> = {
    volume: 'Usage of EmptyDir volume "scratch" exceeds the limit "2Mi". ',
    layer: total,
    log: total,
  };
  for (const [name, message] of Object.entries(messages)) {
    await eventually(`${name} is evicted`, PATIENCE_MS, async () => {
      const { status } = await cluster.get(PODS, namespace.name, name);
      return status?.phase === 'Failed' && status.reason === 'Evicted' && status.message === message;
    });
  }
  await eventually('Events say so', PATIENCE_MS, async () => {
    const command = ['get', 'events', '--field-selector=reason=Evicted', '-o', 'name'];
    return (await kubectl(command)) !== '';
  });
  await eventually(
    'the modest pod runs',
    PATIENCE_MS,
    async () => (await cluster.get(PODS, namespace.name, 'modest')).status?.phase === 'Running',
  );
  await kubectl(['delete', 'pod', '--all']);
});

/** Volumes, resources and environment of pods, on real containers with the real kubectl. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { EVENTS, LEASES, PODS, quantityMilli, quantityValue } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { namespacePods } from './harness/namespace-pods.ts';
import { scriptPod } from './harness/script-pod.ts';
import { recordWatch } from './harness/recorded-watch.ts';
import { startRegistry } from './harness/registry.ts';

const run = promisify(execFile);
const cluster = new Cluster();
const PATIENCE_MS = 90_000;

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
  expect(await cluster.docker(mountsOfHost)).not.toContain(metadata.uid);
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
      startupProbe: { exec: { command: [test, -f, /shared/inner/file] }, periodSeconds: 1, failureThreshold: 60 }
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

test('an image behind a login is pulled with the Secret of a pod or its ServiceAccount, once for all, and used by no other pod', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await using registry = await startRegistry('busybox:1.36', `${namespace.name}/app`, 'me:sesame');
  const [node] = await cluster.nodes();
  const run = (name: string, spec = '', policy = 'IfNotPresent') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  nodeName: ${node?.metadata.name}
${spec}
  containers:
    - { name: main, image: "${registry.image}", imagePullPolicy: ${policy}, command: [echo, done] }
---
`;
  await apply(run('without'));
  await untilDescribed('without', `Failed to pull image "${registry.image}"`);
  await untilDescribed('without', 'Error: ImagePullBackOff');

  const login = ['--docker-server', registry.host, '--docker-username=me', '--docker-password=sesame'];
  await kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
  const wrong = [
    '--docker-server',
    `${registry.host}/${namespace.name}`,
    '--docker-username=me',
    '--docker-password=x',
  ];
  await kubectl(['create', 'secret', 'docker-registry', 'wrong', ...wrong]);
  const names = ['one', 'two', 'three'];
  const secrets = '  imagePullSecrets: [{ name: none }, { name: wrong }, { name: login }]';
  await apply(names.map((name) => run(name, secrets)).join(''));
  for (const name of names) await untilSucceeded(name);
  expect(await kubectl(['logs', 'one'])).toBe('done\n');
  await untilDescribed('one', 'Unable to retrieve some image pull secrets (none)');
  const layers = registry.served.filter((path) => path.startsWith('GET') && path.includes('/blobs/'));
  expect(layers.length).toBe(new Set(layers).size);
  const [described] = await Promise.all(names.map((name) => kubectl(['describe', 'pod', name])));
  expect(described).toMatch(
    /Successfully pulled image .* in \S+ \(\S+ including waiting\)\. Image size: \d+ bytes\.|already present/,
  );

  // It is on the host now, and still not for a pod without the login.
  await apply(run('never', '', 'Never'));
  await untilDescribed('never', `Container image "${registry.image}" is not present with pull policy of Never`);
  await kubectl(['patch', 'serviceaccount', 'default', '-p', '{"imagePullSecrets":[{"name":"login"}]}']);
  await apply(run('by-account', '', 'Never'));
  await untilSucceeded('by-account');
  await untilDescribed('by-account', 'already present on machine and can be accessed by the pod');

  await apply(run('other-tag', '', 'Never').replace('app:v1', 'app:v2'));
  await eventually('the waiting container says which tags there are', PATIENCE_MS, async () => {
    const { status } = await cluster.get(PODS, namespace.name, 'other-tag');
    const { reason, message } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
    return reason === 'ErrImageNeverPull' && message?.includes(`this machine has ${registry.image}`) === true;
  });
  await kubectl(['delete', 'pod', '--all']);
});

test('an image that pods of two nodes need at once is asked for once', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await using registry = await startRegistry('busybox:1.36', `${namespace.name}/app`, 'me:sesame');
  const login = ['--docker-server', registry.host, '--docker-username=me', '--docker-password=sesame'];
  await kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
  const nodes = (await cluster.nodes()).slice(0, 2).map(({ metadata }) => metadata.name ?? '');
  expect(nodes).toHaveLength(2);
  const since = await cluster.docker(['info', '-f', '{{.SystemTime}}']);
  const release = registry.hold();
  await apply(
    nodes
      .map(
        (node) => `
apiVersion: v1
kind: Pod
metadata: { name: of-${node} }
spec:
  restartPolicy: Never
  nodeName: ${node}
  imagePullSecrets: [{ name: login }]
  containers: [{ name: main, image: "${registry.image}", command: [echo, done] }]
---
`,
      )
      .join(''),
  );
  const agents = await cluster.containers('agent');
  await eventually('one agent waits for the pull of the other one', PATIENCE_MS, async () => {
    // The kernel lists a socket that accepted a connection (state 03) under the name that it listened by.
    const sockets = await Promise.all(agents.map(({ id }) => cluster.docker(['exec', id, 'cat', '/proc/net/unix'])));
    return sockets.some((table) => / 03 +\d+ \S*\/images\/pulls\//.test(table));
  });
  release();
  for (const node of nodes) await untilSucceeded(`of-${node}`);
  for (const node of nodes) await untilDescribed(`of-${node}`, `Successfully pulled image "${registry.image}" in `);
  const until = await cluster.docker(['info', '-f', '{{.SystemTime}}']);
  const window = ['--since', since, '--until', until];
  const pulls = await cluster.docker(['events', ...window, '--filter=event=pull', `--filter=image=${registry.image}`]);
  expect(pulls.split('\n')).toHaveLength(1);
  expect(registry.served.filter((path) => /^GET .*\/manifests\/v1$/.test(path)).length).toBeLessThanOrEqual(1);
  await kubectl(['delete', 'pod', '--all']);
});

test('a pod that always pulls asks the registry each time, and a slow pull holds up no other image', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  await using slow = await startRegistry('busybox:1.36', `${namespace.name}/slow`, 'me:sesame');
  await using fast = await startRegistry('busybox:1.36', `${namespace.name}/fast`, 'me:sesame');
  await using other = await startRegistry('busybox:1.36', `${namespace.name}/other`, 'me:sesame');
  for (const [name, { host }] of Object.entries({ slow, fast, other })) {
    const login = ['--docker-server', host, '--docker-username=me', '--docker-password=sesame'];
    await kubectl(['create', 'secret', 'docker-registry', name, ...login]);
  }
  const [node] = await cluster.nodes();
  const run = (name: string, image: string, policy: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  restartPolicy: Never
  nodeName: ${node?.metadata.name}
  imagePullSecrets: [{ name: slow }, { name: fast }, { name: other }]
  containers: [{ name: main, image: "${image}", imagePullPolicy: ${policy}, command: [echo, done] }]
---
`;
  // From now on the engine has the layer that the images share: it would wait for a pull that it is in the middle of.
  await apply(run('first', fast.image, 'Always'));
  await untilSucceeded('first');
  const release = slow.hold();
  await apply(run('waits', slow.image, 'IfNotPresent'));
  await eventually('the slow registry is asked for the content', PATIENCE_MS, () =>
    slow.served.some((path) => /\/manifests\//.test(path)),
  );
  await apply(run('beside', other.image, 'IfNotPresent'));
  await untilSucceeded('beside');
  expect((await cluster.get(PODS, namespace.name, 'waits')).status?.phase).toBe('Pending');

  const asked = () => fast.served.filter((path) => /\/manifests\/v1$/.test(path)).length;
  const blobs = () => fast.served.filter((path) => /^GET .*\/blobs\//.test(path)).length;
  const before = { asked: asked(), blobs: blobs() };
  await apply(run('present', fast.image, 'IfNotPresent'));
  await untilSucceeded('present');
  expect({ asked: asked(), blobs: blobs() }).toEqual(before);
  await apply(run('again', fast.image, 'Always'));
  await untilSucceeded('again');
  expect(asked()).toBeGreaterThan(before.asked);
  // What the host has is not sent once more.
  expect(blobs()).toBe(before.blobs);
  const reported = (await cluster.list(EVENTS, namespace.name)).filter(
    ({ involvedObject }) => involvedObject.name === 'again',
  );
  expect(reported.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['Pulling', 'Pulled']));

  release();
  await untilSucceeded('waits');
  await kubectl(['delete', 'pod', '--all']);
});

test('a pull that takes long says in Events of its pod how far it is', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  await using registry = await startRegistry('busybox:1.36', `${namespace.name}/app`, 'me:sesame', 2 ** 21);
  // The first Event comes ten seconds after the beginning.
  registry.slow(14_000);
  const login = ['--docker-server', registry.host, '--docker-username=me', '--docker-password=sesame'];
  await kubectl(['create', 'secret', 'docker-registry', 'login', ...login]);
  const container = `{ name: main, image: "${registry.image}", command: [echo, done] }`;
  const spec = `{ restartPolicy: Never, imagePullSecrets: [{ name: login }], containers: [${container}] }`;
  await apply(`{ apiVersion: v1, kind: Pod, metadata: { name: large }, spec: ${spec} }`);
  await untilSucceeded('large');
  const events = await cluster.list(EVENTS, namespace.name);
  const messages = events.filter(({ reason }) => reason === 'Pulling').map(({ message }) => message);
  expect(messages).toContain(`Pulling image "${registry.image}"`);
  expect(messages).toContainEqual(
    expect.stringMatching(/^Pulling image "\S+:v1": (25|50|75)% of the \d{6,} bytes known so far$/),
  );
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
  const startedAt = performance.now();
  await kubectl(['patch', 'configmap', 'settings', '-p', '{"data":{"mode":"fast"}}']);
  await kubectl(['patch', 'secret', 'keys', '-p', '{"stringData":{"key":"new"}}']);
  await kubectl(['label', 'pod', 'watcher', 'color=blue']);
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
  expect(await kubectl(['get', 'events', '--field-selector=reason=Evicted', '-o', 'name'])).not.toBe('');
  expect((await cluster.get(PODS, namespace.name, 'modest')).status?.phase).toBe('Running');
  await kubectl(['delete', 'pod', '--all']);
});

/** What the containers of a pod have at the engine, by their names. */
async function engineOptions(namespace: string, name: string) {
  const labels = [`label=io.kubernetes.pod.namespace=${namespace}`, `label=io.kubernetes.pod.name=${name}`];
  const ids = await cluster.podContainers(labels, 'all');
  const containers = JSON.parse(await cluster.docker(['inspect', ...ids])) as readonly {
    readonly Config: { readonly Labels: Readonly<Record<string, string>> };
    readonly HostConfig: Readonly<Record<string, unknown>>;
  }[];
  return new Map(containers.map((one) => [one.Config.Labels['io.kubernetes.container.name'], one.HostConfig]));
}

test('requests, limits and the class of a pod are what the engine holds its containers to', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const script = 'df -k /dev/shm | tail -1 | tr -s " " | cut -d" " -f2; cat /proc/self/oom_score_adj';
  const withResources = (name: string, resources: string) =>
    pod(name, script, '', '').replace('      volumeMounts', `      resources: ${resources}\n      volumeMounts`);
  const all = '{ cpu: 100m, memory: 64Mi }';
  await apply(
    withResources('guaranteed', `{ requests: ${all}, limits: ${all} }`) +
      withResources('burstable', '{ requests: { cpu: 50m, memory: 32Mi }, limits: { memory: 96Mi } }') +
      withResources('best-effort', '{}'),
  );
  const host = JSON.parse(await cluster.docker(['info', '-f', '{{json .}}'])) as { MemTotal: number };
  const nodes = await cluster.nodes();
  const seen: Record<string, unknown> = {};
  for (const name of ['guaranteed', 'burstable', 'best-effort']) {
    await untilSucceeded(name);
    const { status, spec } = await cluster.get(PODS, namespace.name, name);
    const options = (await engineOptions(namespace.name, name)).get('main') ?? {};
    const { CpuShares, CpuQuota, Memory, MemorySwap, LogConfig, PidsLimit } = options;
    expect(LogConfig).toEqual({ Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '5' } });
    expect(PidsLimit).toBeGreaterThan(0);
    const [shm, score] = (await kubectl(['logs', name])).trim().split('\n').map(Number);
    const capacity = nodes.find(({ metadata }) => metadata.name === spec?.nodeName)?.status?.capacity?.['memory'] ?? '';
    seen[name] = { qos: status?.qosClass, CpuShares, CpuQuota, Memory, MemorySwap, shm };
    // Where the engine may not lower a score, 0 is the lowest.
    if (name === 'guaranteed') expect([-997, 0]).toContain(score);
    else if (name === 'best-effort') expect(score).toBe(1000);
    else expect([quantityValue(capacity), host.MemTotal].map((bytes) => burstableScore(bytes))).toContain(score);
  }
  const Mi = 2 ** 20;
  const shm = 65_536;
  expect(seen).toEqual({
    guaranteed: { qos: 'Guaranteed', CpuShares: 102, CpuQuota: 10_000, Memory: 64 * Mi, MemorySwap: 64 * Mi, shm },
    burstable: { qos: 'Burstable', CpuShares: 51, CpuQuota: 0, Memory: 96 * Mi, MemorySwap: 96 * Mi, shm },
    'best-effort': { qos: 'BestEffort', CpuShares: 2, CpuQuota: 0, Memory: 0, MemorySwap: 0, shm },
  });
});

/** Of a container that requests 32Mi of so many bytes. */
function burstableScore(capacityBytes: number): number {
  return Math.min(999, Math.max(3, 1000 - Math.floor((1000 * 32 * 2 ** 20) / capacityBytes)));
}

test('the kernel kills a critical pod last, and no sidecar before the main container that needs it', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const script = 'cat /proc/self/oom_score_adj';
  const sidecar = `  initContainers:
    - name: sidecar
      image: busybox:1.36
      restartPolicy: Always
      command: [sh, -c, '${script}; exec sleep 3600']`;
  const request = 'resources: { requests: { memory: 256Mi } }';
  await apply(
    pod('critical', script, '', '', '  priorityClassName: system-node-critical') +
      pod('helped', script, '', '', sidecar).replace('      volumeMounts', `      ${request}\n      volumeMounts`),
  );
  for (const name of ['critical', 'helped']) await untilSucceeded(name);
  const score = async (name: string, container: string) => Number(await kubectl(['logs', name, '-c', container]));
  // Of class BestEffort. Where the engine may not lower a score, 0 is the lowest.
  expect([-997, 0]).toContain(await score('critical', 'main'));
  const main = await score('helped', 'main');
  expect(main).toBeLessThan(999);
  expect(await score('helped', 'sidecar')).toBe(main);
});

test('a container has the users, rights and files that its security context says', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const script = [
    'id -u; id -g; id -G',
    "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '[:space:]' ' '; echo",
    'touch /file 2>/dev/null && echo writable || echo read-only',
    'test -e /proc/sys/net/ipv4/ip_unprivileged_port_start && cat /proc/sys/net/ipv4/ip_unprivileged_port_start',
  ].join(';');
  const withContext = (name: string, ofPod: string, ofContainer: string) =>
    pod(name, script, '', '', `  securityContext: ${ofPod}`).replace(
      '      volumeMounts',
      `      securityContext: ${ofContainer}\n      volumeMounts`,
    );
  await apply(
    withContext(
      'strict',
      '{ runAsUser: 1000, runAsGroup: 3000, runAsNonRoot: true, fsGroup: 2000, supplementalGroups: [4000, 5000], sysctls: [{ name: net.ipv4.ip_unprivileged_port_start, value: "81" }], seccompProfile: { type: RuntimeDefault } }',
      '{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL], add: [NET_BIND_SERVICE] } }',
    ) +
      withContext(
        'loose',
        '{ seccompProfile: { type: Unconfined } }',
        '{ capabilities: { drop: [ALL], add: [NET_RAW, CHOWN] } }',
      ),
  );
  for (const name of ['strict', 'loose']) await untilSucceeded(name);
  const [uid, gid, groups, rights, files, port] = (await kubectl(['logs', 'strict'])).trim().split('\n');
  expect([uid, gid, files, port]).toEqual(['1000', '3000', 'read-only', '81']);
  expect(groups?.split(' ').toSorted()).toEqual(['2000', '3000', '4000', '5000']);
  expect(rights?.trim()).toBe('CapEff: 0000000000000000 CapBnd: 0000000000000400 NoNewPrivs: 1 Seccomp: 2');
  expect((await kubectl(['logs', 'loose'])).trim().split('\n').slice(3, 5)).toEqual([
    'CapEff: 0000000000002001 CapBnd: 0000000000002001 NoNewPrivs: 0 Seccomp: 0 ',
    'writable',
  ]);
});

test('a container has the groups of its image by the policy of its pod, and its status says which', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply } = inNamespace(namespace.name);
  const image = `gantry.test/${namespace.name}:1`;
  const users = 'echo app:x:1000:1001::/:/bin/sh >> /etc/passwd && echo disk:x:50000:app >> /etc/group';
  const building = run('docker', ['build', '-q', '-t', image, '-']);
  building.child.stdin?.end(`FROM busybox:1.36\nRUN ${users}\n`);
  await building;
  onTestFinished(async () => {
    await cluster.docker(['rmi', '-f', image]);
  });
  const contexts = {
    merge: '{ runAsUser: 1000, supplementalGroups: [60000] }',
    strict: '{ runAsUser: 1000, supplementalGroups: [60000], supplementalGroupsPolicy: Strict }',
    group: '{ runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000 }',
  };
  await apply(
    Object.entries(contexts)
      .map(([name, context]) => pod(name, 'exec sleep 3600', '', '', `  securityContext: ${context}`))
      .join('')
      .replaceAll('busybox:1.36', image),
  );
  const user = (gid: number, others: readonly number[]) => ({
    linux: { uid: 1000, gid, supplementalGroups: [gid, ...others] },
  });
  const expected = {
    merge: user(1001, [50_000, 60_000]),
    strict: user(1001, [60_000]),
    group: user(3000, [50_000, 2000]),
  };
  for (const [name, shown] of Object.entries(expected)) {
    await kubectl(['wait', '--for=condition=Ready', 'pod', name, '--timeout=90s']);
    const status = await kubectl(['get', 'pod', name, '-o', 'jsonpath={.status.containerStatuses[0].user}']);
    expect(JSON.parse(status)).toEqual(shown);
    const groups = (await kubectl(['exec', name, '--', 'id', '-G'])).trim().split(' ').map(Number);
    expect(groups.toSorted()).toEqual(shown.linux.supplementalGroups.toSorted());
  }
  const features = await kubectl([
    'get',
    'nodes',
    '-o',
    'jsonpath={.items[*].status.features.supplementalGroupsPolicy}',
  ]);
  expect(new Set(features.split(' '))).toEqual(new Set(['true']));
});

test('variables come from literals, the pod, ConfigMaps and Secrets, and refer to each other', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await kubectl(['create', 'configmap', 'settings', '--from-literal=mode=slow', '--from-literal=1-odd.name=odd']);
  await kubectl(['create', 'secret', 'generic', 'keys', '--from-literal=key=sesame']);
  const env = [
    '{ name: PLAIN, value: one }',
    '{ name: JOINED, value: "$(PLAIN)-$(MODE)-$$(PLAIN)-$(NONE)" }',
    '{ name: MODE, valueFrom: { configMapKeyRef: { name: settings, key: mode } } }',
    '{ name: LATER, value: "$(MODE)" }',
    '{ name: KEY, valueFrom: { secretKeyRef: { name: keys, key: key } } }',
    '{ name: ABSENT, valueFrom: { secretKeyRef: { name: keys, key: none, optional: true } } }',
    '{ name: NODE, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }',
    '{ name: COLOR, valueFrom: { fieldRef: { fieldPath: "metadata.labels[\'color\']" } } }',
  ];
  const from = [
    '{ prefix: S_, configMapRef: { name: settings } }',
    '{ secretRef: { name: keys } }',
    '{ configMapRef: { name: none, optional: true } }',
  ];
  const lines = `      env: [${env.join(', ')}]\n      envFrom: [${from.join(', ')}]\n      volumeMounts`;
  const script =
    'echo "$JOINED $LATER $KEY ${ABSENT-unset} $COLOR $NODE"; tr "\\000" "\\n" < /proc/1/environ | grep -E "^(S_|key)" | sort; echo $(KEY) "$(echo $$)"';
  const labelled = pod('variables', script, '', '')
    .replace('metadata: { name: variables }', 'metadata: { name: variables, labels: { color: blue } }')
    .replace('      volumeMounts', () => lines);
  await apply(
    labelled +
      pod('missing', 'true', '', '').replace(
        '      volumeMounts',
        '      env: [{ name: X, valueFrom: { configMapKeyRef: { name: settings, key: none } } }]\n      volumeMounts',
      ),
  );
  await untilSucceeded('variables');
  const { spec } = await cluster.get(PODS, namespace.name, 'variables');
  expect((await kubectl(['logs', 'variables'])).trim().split('\n')).toEqual([
    `one-$(MODE)-$(PLAIN)-$(NONE) slow sesame unset blue ${spec?.nodeName}`,
    'S_1-odd.name=odd',
    'S_mode=slow',
    'key=sesame',
    // The kubelet replaces references in a command, as here, too.
    expect.stringMatching(/^sesame \d+$/),
  ]);
  await untilDescribed('missing', `couldn't find key none in ConfigMap ${namespace.name}/settings`);
});

test('a pod has its names, resolvers and processes, or those of the host', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const named = [
    '  hostname: db',
    '  subdomain: shop',
    '  setHostnameAsFQDN: true',
    '  hostAliases: [{ ip: 10.9.8.7, hostnames: [one.test, two.test] }]',
    '  dnsPolicy: None',
    '  dnsConfig: { nameservers: [10.9.9.9], searches: [shop.test], options: [{ name: ndots, value: "2" }] }',
  ].join('\n');
  const ofHost = '  hostNetwork: true\n  hostPID: true\n  hostIPC: true';
  const together = '  shareProcessNamespace: true';
  const spaces = 'for name in net pid ipc; do readlink /proc/self/ns/$name; done';
  await apply(
    pod('named', 'hostname; cat /etc/hostname /etc/hosts /etc/resolv.conf', '', '', named) +
      pod('of-host', spaces, '', '', ofHost) +
      pod(
        'together',
        'until ps | grep -v grep | grep -q "sleep 4712"; do sleep 0.1; done; killall sleep',
        '',
        '',
        together,
      ).replace(
        '  volumes',
        '    - { name: other, image: "busybox:1.36", command: [sh, -c, "sleep 4712; true"] }\n  volumes',
      ),
  );
  for (const name of ['named', 'of-host', 'together']) await untilSucceeded(name);
  const domain = `shop.${namespace.name}.svc.cluster.local`;
  const { status } = await cluster.get(PODS, namespace.name, 'named');
  const lines = (await kubectl(['logs', 'named'])).trim().split('\n');
  expect(lines.slice(0, 2)).toEqual([`db.${domain}`, `db.${domain}`]);
  expect(lines).toContain(`${status?.podIP}\tdb.${domain}\tdb`);
  expect(lines).toContain('10.9.8.7\tone.test\ttwo.test');
  expect(lines.slice(-3)).toEqual(['search shop.test', 'nameserver 10.9.9.9', 'options ndots:2']);
  const host = ['run', '--rm', '--network=host', '--pid=host', '--ipc=host', 'busybox:1.36', 'sh', '-c', spaces];
  expect((await kubectl(['logs', 'of-host'])).trim()).toBe(await cluster.docker(host));
  await kubectl(['delete', 'pod', '--all']);
});

test('a RuntimeClass adds its overhead, for which a node needs room; one that the engine lacks is refused', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  const names = ['known', 'unknown', 'large'].map((name) => `${namespace.name}-${name}`);
  const [known = '', unknown = '', large = ''] = names;
  const [node] = await cluster.nodes();
  const kind = (name: string, handler: string, memory = '7Mi') => `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: { name: ${name} }
handler: ${handler}
overhead: { podFixed: { memory: ${memory} } }
---
`;
  try {
    await apply(kind(known, 'runc') + kind(unknown, 'gantry-none') + kind(large, 'runc', '1Pi'));
    await apply(
      pod('known', 'true', '', '', `  runtimeClassName: ${known}`) +
        pod('unknown', 'true', '', '', `  runtimeClassName: ${unknown}`) +
        pod('large', 'true', '', '', `  runtimeClassName: ${large}\n  nodeName: ${node?.metadata.name}`),
    );
    await untilSucceeded('known');
    expect((await cluster.get(PODS, namespace.name, 'known')).spec?.overhead).toEqual({ memory: '7Mi' });
    const room = await eventually('the node has no room for the overhead', 60_000, async () => {
      const { status } = await cluster.get(PODS, namespace.name, 'large');
      return status?.phase === 'Failed' ? status : undefined;
    });
    expect(room).toMatchObject({ reason: 'OutOfmemory', message: expect.stringContaining(`requested: ${2 ** 50}`) });
    await untilDescribed('unknown', 'failed to get sandbox runtime: no runtime for "gantry-none" is configured');
  } finally {
    await kubectl(['delete', 'runtimeclass', ...names]);
  }
});

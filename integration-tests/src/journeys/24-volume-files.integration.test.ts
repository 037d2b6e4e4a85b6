/** What the files of volumes are, on real containers: the types of hostPath, and keys, paths and modes of what the API has. */
import { CONFIG_MAPS, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { namespacePods } from '../harness/namespace-pods.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

const inNamespace = (namespace: string) => namespacePods(cluster, namespace);

const pod = (name: string, script: string, volumes: string, mounts: string, container = '') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: files }, annotations: { note: "two\\nlines" } }
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, ${JSON.stringify(script)}]
      volumeMounts: [${mounts}]
${container}
  volumes: [${volumes}]
---
`;

test('a hostPath of each type is mounted, made where the type says so, and refused where something else is there', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  const folder = `/tmp/gantry-${namespace.name}`;
  const onHost = (script: string) =>
    cluster.docker(['run', '--rm', '--cap-add=MKNOD', '-v', '/tmp:/tmp', 'busybox:1.36', 'sh', '-c', script]);
  const host = (name: string, path: string, type: string, script: string) =>
    pod(
      name,
      script,
      `{ name: host, hostPath: { path: ${folder}/${path}, type: "${type}" } }`,
      '{ name: host, mountPath: /host }',
    );
  const wrong: readonly (readonly [path: string, type: string, title: string])[] = [
    ['folder', 'File', 'file'],
    ['folder', 'FileOrCreate', 'file'],
    ['file', 'Directory', 'directory'],
    ['file', 'DirectoryOrCreate', 'directory'],
    ['none', 'Directory', 'directory'],
    ['none', 'File', 'file'],
    ['file', 'Socket', 'socket file'],
    ['file', 'BlockDevice', 'block device'],
    ['disk', 'CharDevice', 'character device'],
  ];
  const refusedName = (path: string, type: string) => `${path}-as-${type.toLowerCase()}`;
  try {
    await onHost(`mkdir -p ${folder}/folder && echo there > ${folder}/file && mknod ${folder}/disk b 7 250`);
    await apply(
      [
        host('made-file', 'folder/new', 'FileOrCreate', 'test -f /host && test ! -s /host && echo made > /host'),
        host('old-file', 'file', 'FileOrCreate', 'test "$(cat /host)" = there'),
        host('folder', 'folder', 'Directory', 'test -d /host && echo inside > /host/inside'),
        host('any', 'any/deep', '', 'echo any > /host/file'),
        host('any-file', 'file', '', 'test "$(cat /host)" = there'),
        host('disk', 'disk', 'BlockDevice', 'test -b /host'),
        ...wrong.map(([path, type]) => host(refusedName(path, type), path, type, 'true')),
      ].join(''),
    );
    for (const name of ['made-file', 'old-file', 'folder', 'any', 'any-file', 'disk']) await untilSucceeded(name);
    const files = ['folder/new', 'folder/inside', 'any/deep/file', 'file'].map((path) => `${folder}/${path}`);
    expect(await onHost(`cat ${files.join(' ')}`)).toBe('made\ninside\nany\nthere');
    for (const [path, type, title] of wrong) {
      const name = refusedName(path, type);
      const text = `hostPath type check failed: ${folder}/${path} is not a ${title}`;
      await eventually(`${name} is refused`, PATIENCE_MS, async () =>
        (await kubectl(['describe', 'pod', name])).includes(text),
      );
      expect((await cluster.get(PODS, namespace.name, name)).status?.phase).toBe('Pending');
    }
    expect(await onHost(`ls ${folder}`)).toBe('any\ndisk\nfile\nfolder');
  } finally {
    await kubectl(['delete', 'pod', '--all']);
    await onHost(`rm -rf ${folder}`);
  }
});

test('keys have the paths and modes that are asked for, bytes as they are, and what is optional may be missing', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded } = inNamespace(namespace.name);
  await apply(`
apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { plain: text, other: more }
binaryData: { bytes: AAEC/w== }
---
apiVersion: v1
kind: Secret
metadata: { name: keys }
stringData: { password: sesame, hidden: unseen }
`);
  const volumes = [
    '{ name: whole, configMap: { name: settings } }',
    '{ name: items, configMap: { name: settings, defaultMode: 0400, optional: true, items: [{ key: plain, path: deep/er/one, mode: 0444 }, { key: bytes, path: raw }, { key: none, path: none }] } }',
    '{ name: keys, secret: { secretName: keys, defaultMode: 0440, items: [{ key: password, path: own, mode: 0400 }] } }',
    '{ name: none, secret: { secretName: none, optional: true } }',
    `{ name: about, downwardAPI: { defaultMode: 0640, items: [
      { path: labels, fieldRef: { fieldPath: metadata.labels } }, { path: note, mode: 0600, fieldRef: { fieldPath: "metadata.annotations['note']" } },
      { path: res/cpu, resourceFieldRef: { containerName: main, resource: limits.cpu, divisor: 1m } },
      { path: res/memory, resourceFieldRef: { containerName: main, resource: requests.memory, divisor: 1Mi } }] } }`,
  ];
  const script = [
    'cd /v',
    'for f in whole/plain whole/bytes items/deep/er/one items/raw keys/own about/labels about/note about/res/cpu; do stat -L -c "%n %u %g %a" $f; done',
    'ls whole items keys none about',
    'od -An -tx1 whole/bytes; od -An -tx1 items/raw',
    'cat items/deep/er/one; echo; cat keys/own; echo; grep app= about/labels; cat about/note; echo; cat about/res/cpu; echo; cat about/res/memory; echo',
    'test "$POD" = "$(hostname -i)" && test -n "$HOST" && test "$PODS" = "$POD" && echo addresses',
  ].join('; ');
  const container = `
      env:
        - { name: POD, valueFrom: { fieldRef: { fieldPath: status.podIP } } }
        - { name: PODS, valueFrom: { fieldRef: { fieldPath: status.podIPs } } }
        - { name: HOST, valueFrom: { fieldRef: { fieldPath: status.hostIP } } }
      resources: { limits: { cpu: 250m, memory: 64Mi }, requests: { cpu: 10m, memory: 32Mi } }`;
  const mounts = ['whole', 'items', 'keys', 'none', 'about'].map((name) => `{ name: ${name}, mountPath: /v/${name} }`);
  await apply(pod('reader', script, volumes.join(','), mounts.join(','), container));
  await untilSucceeded('reader');
  expect((await kubectl(['logs', 'reader'])).trim().split('\n')).toEqual([
    ...['whole/plain 0 0 644', 'whole/bytes 0 0 644', 'items/deep/er/one 0 0 444', 'items/raw 0 0 400'],
    ...['keys/own 0 0 400', 'about/labels 0 0 640', 'about/note 0 0 600', 'about/res/cpu 0 0 640'],
    ...['about:', 'labels', 'note', 'res', '', 'items:', 'deep', 'raw', '', 'keys:', 'own', '', 'none:', ''],
    ...['whole:', 'bytes', 'other', 'plain', ' 00 01 02 ff', ' 00 01 02 ff', 'text', 'sesame'],
    ...['app="files"', 'two', 'lines', '250', '32', 'addresses'],
  ]);
});

test('an optional object appears when it is made, and a reader never sees keys of two versions', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply } = inNamespace(namespace.name);
  // What is opened through one link is one version; one that is gone meanwhile says nothing.
  const script = [
    'while true; do',
    '  if cd /v/..data 2> /dev/null; then',
    '    a=$(cat one 2> /dev/null); b=$(cat two 2> /dev/null)',
    '    if [ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ]; then echo "mixed $a $b"; fi',
    '    if [ -n "$a" ] && [ "$a" != "$last" ]; then echo "saw $a"; last=$a; fi',
    '  fi',
    '  cd /',
    'done',
  ].join('\n');
  const volumes = '{ name: v, configMap: { name: late, optional: true } }';
  await apply(pod('reader', script, volumes, '{ name: v, mountPath: /v }'));
  await kubectl(['wait', '--for=condition=Ready', 'pod/reader', '--timeout=120s']);
  const logs = async () => (await kubectl(['logs', 'reader'])).trim().split('\n');
  expect(await logs()).toEqual(['']);
  await cluster.create(CONFIG_MAPS, namespace.name, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'late' },
    data: { one: '0', two: '0' },
  });
  const seen = async (value: number) => {
    await eventually(`the pod shows ${value}`, PATIENCE_MS, async () => (await logs()).includes(`saw ${value}`));
  };
  await seen(0);
  for (const value of [1, 2, 3, 4, 5]) {
    const patch = JSON.stringify({ data: { one: `${value}`, two: `${value}` } });
    await kubectl(['patch', 'configmap', 'late', '--type=merge', '-p', patch]);
    await seen(value);
  }
  expect(await logs()).toEqual([0, 1, 2, 3, 4, 5].map((value) => `saw ${value}`));
  await kubectl(['delete', 'pod', 'reader']);
});

/** Volumes that are block devices of the host, raw or with a file system on them, with a loop device in place of a disk. */
import { expect, test } from 'vitest';
import { Cluster, STAYING } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { makeLoopDevice } from './harness/loop-devices.ts';
import { namespacePods } from './harness/namespace-pods.ts';
import { scriptPod } from './harness/script-pod.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;

/** A local volume of an administrator on one node, and the claim that it is for. */
const claimedVolume = (namespace: string, node: string, name: string, path: string, mode: string, more = '') => `
apiVersion: v1
kind: PersistentVolume
metadata: { name: ${name}-${namespace} }
spec:
  storageClassName: ""
  volumeMode: ${mode}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  capacity: { storage: 16Mi }
  claimRef: { namespace: ${namespace}, name: ${name} }
  local: { path: ${path}${more} }
  nodeAffinity:
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [${node}] }] }] }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: ${name} }
spec:
  storageClassName: ""
  volumeMode: ${mode}
  accessModes: [ReadWriteMany]
  resources: { requests: { storage: 16Mi } }
---
`;

const pod = (name: string, script: string, use: string, claim: string, more = '', readOnly = false) => {
  const volume = `{ name: data, persistentVolumeClaim: { claimName: ${claim}, readOnly: ${readOnly} } }`;
  const ofPod = `tolerations: ${JSON.stringify(STAYING)}\n  volumes: [${volume}]`;
  return scriptPod(name, script, `${use}\n      ${more}`, ofPod);
};

const AT_DEVICE = 'volumeDevices: [{ name: data, devicePath: /dev/given }]';

test('a claim of mode Block is a device in its containers, which may write to it as its volume says', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  await using device = await makeLoopDevice(cluster, `/tmp/gantry-${namespace.name}`, { text: 'before' });
  const node = await firstNode();
  const volumes = ['disk', 'folder', 'none'];
  const volume = (name: string, path: string) => claimedVolume(namespace.name, node, name, path, 'Block');
  const link = `/tmp/gantry-${namespace.name}/link`;
  try {
    await device.onHost(`ln -s ${device.path} ${link}`);
    await apply(volume('disk', link) + volume('folder', '/tmp') + volume('none', '/tmp/gantry-none'));
    const refused = 'head -n 1 /dev/given; ! echo new > /dev/given';
    await apply(
      [
        pod('reads', refused, AT_DEVICE, 'disk', '', true),
        pod('on-folder', 'true', AT_DEVICE, 'folder'),
        pod('on-none', 'true', AT_DEVICE, 'none'),
      ].join(''),
    );
    await untilSucceeded('reads');
    expect(await kubectl(['logs', 'reads'])).toContain('before\n');
    await untilDescribed('on-folder', 'MapVolume.MapBlockVolume failed for volume "data" : /tmp is not a block device');
    await untilDescribed('on-none', 'lstat /tmp/gantry-none: no such file or directory');
    const writes = 'test -b /dev/given && echo after > /dev/given';
    await apply(pod('writes', writes, AT_DEVICE, 'disk'));
    await untilSucceeded('writes');
    const privileged = 'securityContext: { privileged: true }';
    await apply(pod('sees', 'head -n 1 /dev/given', AT_DEVICE, 'disk', privileged));
    await untilSucceeded('sees');
    expect(await kubectl(['logs', 'sees'])).toBe('after\n');
    expect(await device.onHost(`head -n 1 ${device.path}`)).toBe('after');
  } finally {
    await remove(namespace.name, volumes);
  }
});

test('a claim of a file system on a device is made, mounted for all its pods, and unmounted with the last of them', async () => {
  await using namespace = await cluster.namespace();
  const { kubectl, apply, untilSucceeded, untilDescribed } = inNamespace(namespace.name);
  const folder = `/tmp/gantry-${namespace.name}`;
  await using device = await makeLoopDevice(cluster, folder);
  await using signed = await makeLoopDevice(cluster, `${folder}-signed`);
  const node = await firstNode();
  const volume = (name: string, path: string) => claimedVolume(namespace.name, node, name, path, 'Filesystem');
  const use = (more = '') => `volumeMounts: [{ name: data, mountPath: /data${more} }]`;
  const user = 'securityContext: { runAsUser: 1234 }';
  const group = (manifest: string) => manifest.replace('spec:\n', 'spec:\n  securityContext: { fsGroup: 4321 }\n');
  try {
    await signed.onHost(`printf '\\125\\252' | dd of=${signed.path} bs=1 seek=510 conv=notrunc 2>/dev/null
      printf '\\203\\0\\0\\0\\0\\10\\0\\0\\0\\10\\0\\0' | dd of=${signed.path} bs=1 seek=450 conv=notrunc 2>/dev/null`);
    const before = await signed.onHost(`md5sum ${signed.path}`);
    await apply(volume('disk', device.path) + volume('signed', signed.path));
    await apply(pod('on-signed', 'true', use(), 'signed'));
    await untilDescribed('on-signed', `local: failed to mount device ${signed.path} (fstype: ext4), error mount: `);
    expect(await signed.onHost(`md5sum ${signed.path}`)).toBe(before);

    await apply(pod('reads-first', 'true', use(), 'disk', '', true));
    await untilDescribed('reads-first', 'cannot mount unformatted disk as we are manipulating it in read-only mode');
    await kubectl(['delete', 'pod', 'reads-first']);

    const keeps = 'echo kept > /data/file; mkdir -p /data/part; touch /data/part/x; sleep 3600';
    await apply(group(pod('writes', keeps, use(), 'disk', user)));
    const inPod = (script: string) => kubectl(['exec', 'writes', '--', 'sh', '-c', script]);
    await eventually('it has written all', PATIENCE_MS, () => inPod('test -e /data/part/x && echo yes'));
    const seen = 'grep -q " /data ext4 ro" /proc/mounts && cat /data/file && ! touch /data/new';
    await apply(pod('reads', seen, use(), 'disk', '', true));
    await apply(pod('part', 'test -e /data/x && test ! -e /data/file', use(', subPath: part'), 'disk'));
    for (const name of ['reads', 'part']) await untilSucceeded(name);
    expect(await kubectl(['logs', 'reads'])).toContain('kept\n');
    await kubectl(['delete', 'pod', 'reads', 'part']);

    await cluster.compose(['restart', '--timeout', '2', 'agent']);
    const found = await eventually('the agent answers', PATIENCE_MS, () => inPod('cat /data/file; stat -c %g /data'));
    expect(found).toBe('kept\n4321\n');
    await kubectl(['delete', 'pod', '--all', '--timeout=90s']);
    // The kernel refuses to mount read-only what is mounted writable.
    const unmounted = `mkdir /m; mount -t ext4 -o ro ${device.path} /m; cat /m/file`;
    expect(await eventually('nothing has it mounted', PATIENCE_MS, () => device.onHost(unmounted))).toBe('kept');
  } finally {
    await remove(namespace.name, ['disk', 'signed']);
  }
});

function inNamespace(namespace: string) {
  return namespacePods(cluster, namespace);
}

async function firstNode(): Promise<string> {
  const [node] = await cluster.nodes();
  return node?.metadata.name ?? '';
}

async function remove(namespace: string, volumes: readonly string[]): Promise<void> {
  const { kubectl } = inNamespace(namespace);
  await kubectl(['delete', 'pod,pvc', '--all', '--timeout=90s']);
  await kubectl(['delete', 'pv', '--ignore-not-found', ...volumes.map((name) => `${name}-${namespace}`)]);
}

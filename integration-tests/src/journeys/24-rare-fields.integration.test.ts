/** Fields of a pod's specification that few pods use, on real containers. */
import { PODS } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { namespacePods } from '../harness/namespace-pods.ts';
import { scriptPod } from '../harness/script-pod.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;
let namespace: Awaited<ReturnType<Cluster['namespace']>>;
let inNamespace: ReturnType<typeof namespacePods>;

beforeAll(async () => {
  namespace = await cluster.namespace();
  inNamespace = namespacePods(cluster, namespace.name);
});
afterAll(() => namespace[Symbol.asyncDispose]());

test('volumes are mounted inside volumes of files, at the same paths after a change and after a restart of the container', async () => {
  const { kubectl, apply } = inNamespace;
  await kubectl(['create', 'configmap', 'outer', '--from-literal=one=1', '--from-literal=in=deep']);
  await kubectl(['create', 'secret', 'generic', 'inner', '--from-literal=key=sesame']);
  const volumes = [
    '{ name: outer, configMap: { name: outer, items: [{ key: one, path: one }, { key: in, path: folder/in }] } }',
    '{ name: inner, secret: { secretName: inner } }',
    '{ name: empty, emptyDir: {} }',
  ];
  const mounts = [
    '{ name: empty, mountPath: /outer/folder/made }',
    '{ name: outer, mountPath: /outer }',
    '{ name: inner, mountPath: outer/keys/ }',
  ];
  const script = 'cat /outer/one /outer/keys/key; echo; echo >> /outer/folder/made/runs; exec sleep 3600';
  const inPod = (text: string) => kubectl(['exec', 'nested', '--', 'sh', '-c', text]);
  /** A container that is ready has not necessarily written yet. */
  const untilWritten = (log: string, runs: string) =>
    eventually(`it has written ${log} in its run ${runs}`, PATIENCE_MS, async () => {
      expect(await kubectl(['logs', 'nested'])).toBe(log);
      // The mount is not in the version that the change has removed, though a file of it would be in the same folder.
      expect(await inPod('wc -l < /outer/folder/made/runs')).toBe(runs);
      return true;
    });
  await apply(
    scriptPod('nested', script, `volumeMounts: [${mounts.join(',')}]`, `volumes: [${volumes.join(',')}]`).replace(
      'restartPolicy: Never',
      'restartPolicy: Always',
    ),
  );
  await kubectl(['wait', '--for=condition=Ready', 'pod/nested', '--timeout=120s']);
  await untilWritten('1sesame\n', '1\n');
  await kubectl(['patch', 'configmap', 'outer', '--type=merge', '-p', '{"data":{"one":"2"}}']);
  await eventually('the change arrives', PATIENCE_MS, async () => (await inPod('cat /outer/one')) === '2');
  await untilWritten('1sesame\n', '1\n');
  const [id = ''] = await cluster.podContainers([
    `label=io.kubernetes.pod.namespace=${namespace.name}`,
    'label=io.kubernetes.container.name=main',
    'label=io.kubernetes.pod.name=nested',
  ]);
  await cluster.docker(['kill', id]);
  await eventually('it runs again', PATIENCE_MS, async () => {
    const status = (await cluster.get(PODS, namespace.name, 'nested')).status?.containerStatuses?.[0];
    return status?.restartCount === 1 && status.ready === true;
  });
  await untilWritten('2sesame\n', '2\n');
});

test('relative paths in a container are from its root on', async () => {
  const { kubectl, apply, untilSucceeded } = inNamespace;
  const more =
    'terminationMessagePath: tmp/message\n      volumeMounts: [{ name: empty, mountPath: data/deep }]\n      workingDir: /made/for/it';
  const script = 'pwd; grep -c " /data/deep " /proc/mounts; echo bye > /tmp/message';
  await apply(scriptPod('relative', script, more, 'volumes: [{ name: empty, emptyDir: {} }]'));
  await untilSucceeded('relative');
  expect(await kubectl(['logs', 'relative'])).toBe('/made/for/it\n1\n');
  const { status } = await cluster.get(PODS, namespace.name, 'relative');
  expect(status?.containerStatuses?.[0]?.state?.terminated?.message).toBe('bye\n');
});

test('a variable never has other bytes than its Secret, and no message shows them', async () => {
  const { kubectl, apply, untilDescribed } = inNamespace;
  await apply(`
apiVersion: v1
kind: Secret
metadata: { name: bytes }
data: { latin: YeliQw==, nul: cGFzcwB3b3Jk }
---
`);
  const env = (key: string) => `env: [{ name: KEY, valueFrom: { secretKeyRef: { name: bytes, key: ${key} } } }]`;
  await apply(scriptPod('latin', 'true', env('latin')) + scriptPod('nul', 'true', env('nul')));
  const of = (key: string) => `key ${key} in Secret ${namespace.name}/bytes`;
  await untilDescribed('latin', `${of('latin')} is not UTF-8 text, which no environment variable can have`);
  await untilDescribed('nul', `${of('nul')} contains a NUL, which no environment variable can have`);
  expect(await kubectl(['describe', 'pod', 'nul'])).not.toContain('pass');
});

test('a pod has the name, the Services and the input that it asks for', async () => {
  const { kubectl, apply, untilSucceeded } = inNamespace;
  await kubectl(['create', 'service', 'clusterip', 'linked', '--tcp=80']);
  await apply(
    scriptPod('links', 'env', '', 'enableServiceLinks: true') +
      scriptPod('no-links', 'env', '', 'enableServiceLinks: false') +
      scriptPod('named', 'hostname; grep -c "example.org$" /etc/hosts', '', 'hostnameOverride: host.example.org') +
      scriptPod('input', 'cat; echo end', 'stdin: true\n      stdinOnce: true'),
  );
  for (const name of ['links', 'no-links', 'named']) await untilSucceeded(name);
  expect(await kubectl(['logs', 'links'])).toContain('LINKED_SERVICE_HOST=');
  const without = await kubectl(['logs', 'no-links']);
  expect(without).not.toContain('LINKED_SERVICE_HOST=');
  expect(without).toContain('KUBERNETES_SERVICE_HOST=');
  expect(await kubectl(['logs', 'named'])).toBe('host.example.org\n1\n');
  await kubectl(['wait', '--for=condition=Ready', 'pod/input', '--timeout=120s']);
  await kubectl(['attach', '-q', '-i', 'input'], 'once\n');
  await untilSucceeded('input');
  expect(await kubectl(['logs', 'input'])).toBe('once\nend\n');
});

test('what does not fit into its pod is refused with the field or the name', async () => {
  const { apply, untilDescribed } = inNamespace;
  await expect(apply(scriptPod('claims', 'true', 'resources: { claims: [{ name: device }] }'))).rejects.toThrow(
    'spec.containers[0].resources.claims[0]: Not found: "device": must be one of the names in pod.spec.resourceClaims which is empty',
  );
  await apply(scriptPod('port', 'sleep 3600', 'readinessProbe: { httpGet: { port: none }, periodSeconds: 1 }'));
  await untilDescribed('port', 'Readiness probe failed: container "main" has no port with the name "none"');
});

test('the files of a claim get the group of a pod by its policy', async () => {
  const { kubectl, apply, untilSucceeded } = inNamespace;
  await apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: shared }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Mi } } }
---
`);
  const volumes = 'volumes: [{ name: shared, persistentVolumeClaim: { claimName: shared } }]';
  const run = async (name: string, script: string, security: string) => {
    await apply(
      scriptPod(name, script, 'volumeMounts: [{ name: shared, mountPath: /shared }]', `${security}\n  ${volumes}`),
    );
    await untilSucceeded(name);
    return kubectl(['logs', name]);
  };
  const grouped = (policy: string) => `securityContext: { fsGroup: 2000, fsGroupChangePolicy: ${policy} }`;
  const group = 'stat -c %g /shared/file';
  expect(await run('writer', `touch /shared/file; ${group}`, '')).toBe('0\n');
  expect(await run('mismatch', group, grouped('OnRootMismatch'))).toBe('2000\n');
  expect(await run('back', `chown 0:0 /shared/file; ${group}`, '')).toBe('0\n');
  expect(await run('match', group, grouped('OnRootMismatch')), 'the folder has the group already').toBe('0\n');
  expect(await run('always', group, grouped('Always'))).toBe('2000\n');
});

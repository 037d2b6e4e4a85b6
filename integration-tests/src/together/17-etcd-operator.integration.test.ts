import { join } from 'node:path';
import { type KubeObject, type Pod, PODS, type Resource, SECRETS } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { type ExamplePods, startExamplePods } from '../harness/example-pods.ts';
import { issueServerIdentity } from '../harness/test-pki.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
type EtcdCluster = KubeObject & {
  spec?: object;
  status?: { conditions?: Condition[]; readyMembers?: number; backups?: { file: string }[] };
};
const ETCD_CLUSTERS: Resource<EtcdCluster> = {
  group: 'etcd.example.com',
  version: 'v1',
  resource: 'etcdclusters',
  kind: 'EtcdCluster',
  namespaced: true,
};

const cluster = new Cluster();
const IMAGE = 'quay.io/coreos/etcd:v3.5.30';
const UPGRADE = `${IMAGE}-upgrade-${process.pid}`;
const STEP_MS = 180_000;

/**
 * Puts one key after the other, each until it is acknowledged. When it is to stop, it prints how many it has put, and how many are there. To
 * `read`, it prints that at once.
 */
const CLIENT = `
const { readFileSync, existsSync } = require('fs');
const [base, mode] = process.argv.slice(1);
const read = (name) => readFileSync('/tls/' + name);
const agent = new (require('https').Agent)({ ca: read('ca.crt'), cert: read('tls.crt'), key: read('tls.key') });
const encode = (text) => Buffer.from(text).toString('base64');
const post = (path, body) => new Promise((resolve) => {
  const request = require('https').request(base + path, { method: 'POST', agent, timeout: 2000 }, (response) => {
    let text = '';
    response.on('data', (part) => (text += part)).on('end', () => resolve(response.statusCode === 200 ? JSON.parse(text) : undefined));
    response.on('error', () => resolve(undefined));
  });
  request.on('timeout', () => request.destroy()).on('error', () => resolve(undefined)).end(JSON.stringify(body));
});
const count = async () => {
  for (;;) {
    const found = await post('/v3/kv/range', { key: encode('k'), range_end: encode('l'), count_only: true });
    if (found !== undefined) return Number(found.count ?? 0);
  }
};
(async () => {
  let put = 0;
  while (!existsSync('/tmp/stop')) {
    if (mode === 'read') break;
    const done = await post('/v3/kv/put', { key: encode('k' + put), value: encode('x'.repeat(100)) });
    if (done !== undefined) put += 1;
  }
  console.log(JSON.stringify({ put, found: await count() }));
})();
`;

let example: ExamplePods;
beforeAll(async () => {
  await cluster.mustKubectl(['apply', '-f', join(cluster.root, 'examples/etcd-operator/deploy/definition.json')]);
  const definition = 'crd/etcdclusters.etcd.example.com';
  await cluster.mustKubectl(['wait', '--for=condition=Established', definition, '--timeout=120s']);
  example = await startExamplePods(cluster, 'etcd-operator', 'etcd-operator');
  await cluster.docker(['tag', IMAGE, UPGRADE]);
});
afterAll(async () => {
  await example[Symbol.asyncDispose]();
  await cluster.kubectl(['delete', 'crd', 'etcdclusters.etcd.example.com', '--wait=false']);
  await cluster.docker(['rmi', UPGRADE]);
});

/** The names in the certificate of a cluster with up to four members. */
function namesOf(name: string, namespace: string): readonly string[] {
  const members = [0, 1, 2, 3].map((index) => `${name}-${index}.${name}.${namespace}.svc`);
  return [...members, `${name}-client.${namespace}.svc`];
}

async function createCluster(namespace: string, name: string, spec: object): Promise<void> {
  const metadata = { name };
  await cluster.create(ETCD_CLUSTERS, namespace, {
    apiVersion: 'etcd.example.com/v1',
    kind: 'EtcdCluster',
    metadata,
    spec,
  });
}

/** Waits until the cluster is as wanted, with this many ready members. */
async function untilSteady(namespace: string, name: string, message: string, size: number): Promise<void> {
  await eventually(`${name} has ${message}`, STEP_MS, async () => {
    const { conditions = [], readyMembers } = (await cluster.get(ETCD_CLUSTERS, namespace, name)).status ?? {};
    const progressing = conditions.find(({ type }) => type === 'Progressing');
    if (progressing?.message === message && readyMembers === size) return true;
    throw new Error(JSON.stringify(conditions));
  });
}

async function startClient(namespace: string, name: string, mode: 'write' | 'read'): Promise<void> {
  const base = `https://${name}-client.${namespace}.svc:2379`;
  const object: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: mode },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: await cluster.serviceImage(),
          command: ['node', '-e', CLIENT, base, mode],
          volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
        },
      ],
      volumes: [{ name: 'tls', secret: { secretName: 'etcd-tls' } }],
    },
  };
  await cluster.create(PODS, namespace, object);
}

async function resultOf(namespace: string, pod: string): Promise<{ readonly put: number; readonly found: number }> {
  const wait = ['wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${pod}`, '-n', namespace, '--timeout=170s'];
  await cluster.mustKubectl(wait);
  return JSON.parse(await cluster.mustKubectl(['logs', pod, '-n', namespace])) as { put: number; found: number };
}

test('an etcd cluster loses nothing acknowledged while members and the operator die, and comes back from a backup', async () => {
  await using namespace = await cluster.namespace();
  const { name } = namespace;
  const { ca, cert, key } = await issueServerIdentity([...namesOf('db', name), ...namesOf('old', name)]);
  const stringData = { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key };
  await cluster.create(SECRETS, name, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'etcd-tls' }, stringData });
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '100Mi' } } };
  const input = JSON.stringify({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'backups' },
    spec: claim,
  });
  await cluster.mustKubectl(['apply', '-n', name, '-f', '-'], { input });
  const tls = { secretName: 'etcd-tls' };
  const backup = { everyMinutes: 1, keep: 2, claimName: 'backups' };
  const change = async (spec: object) =>
    await cluster.api.patch(
      ETCD_CLUSTERS,
      { namespace: name, name: 'db' },
      { merge: { spec } },
      AbortSignal.timeout(STEP_MS),
    );
  const killMember = async (member: string) =>
    await cluster.mustKubectl(['delete', 'pod', member, '-n', name, '--force', '--grace-period=0']);

  await createCluster(name, 'db', { image: IMAGE, tls, backup });
  await untilSteady(name, 'db', `3 members of ${IMAGE}`, 3);
  await startClient(name, 'db', 'write');

  const lost = (await cluster.get(PODS, name, 'db-1')).metadata.uid;
  await killMember('db-1');
  await example.killLeader();
  await eventually(
    'the lost member is replaced',
    STEP_MS,
    async () => (await cluster.get(PODS, name, 'db-1')).metadata.uid !== lost,
  );
  await untilSteady(name, 'db', `3 members of ${IMAGE}`, 3);

  const restarts = (await cluster.pods(name, 'etcd.example.com/cluster=db')).map(({ metadata }) => metadata.uid).sort();
  await change({ image: UPGRADE });
  await eventually('the upgrade has begun', STEP_MS, async () =>
    (await cluster.pods(name, 'etcd.example.com/cluster=db')).some(
      ({ spec }) => spec?.containers[0]?.image === UPGRADE,
    ),
  );
  await example.killLeader();
  await untilSteady(name, 'db', `3 members of ${UPGRADE}`, 3);
  const upgraded = await cluster.pods(name, 'etcd.example.com/cluster=db');
  expect(upgraded.map(({ metadata }) => metadata.uid).sort(), 'the members keep their data').toEqual(restarts);

  await eventually('there is a backup', STEP_MS, async () => {
    const { status } = await cluster.get(ETCD_CLUSTERS, name, 'db');
    return status?.backups?.[0]?.file;
  });
  await change({ backup: null, size: 4 });
  await untilSteady(name, 'db', `4 members of ${UPGRADE}`, 4);
  await change({ size: 1 });
  await untilSteady(name, 'db', `1 member of ${UPGRADE}`, 1);
  await cluster.mustKubectl(['exec', 'write', '-n', name, '--', 'touch', '/tmp/stop']);
  const { put, found } = await resultOf(name, 'write');
  expect(put).toBeGreaterThan(100);
  // One that was put without an answer may be there too.
  expect([put, put + 1]).toContain(found);

  const { status } = await cluster.get(ETCD_CLUSTERS, name, 'db');
  const file = status?.backups?.[0]?.file ?? 'db-0.db';
  await createCluster(name, 'old', { size: 2, image: IMAGE, tls, restore: { claimName: 'backups', file } });
  await untilSteady(name, 'old', `2 members of ${IMAGE}`, 2);
  await startClient(name, 'old', 'read');
  const restored = await resultOf(name, 'read');
  expect(restored.found).toBeGreaterThan(0);
  expect(restored.found).toBeLessThanOrEqual(found);
  expect(await example.faults()).toEqual([]);
});

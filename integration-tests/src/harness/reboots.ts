/**
 * `npm run reboots [-- --times N] [--pods N]`: a cluster with pods on a machine of its own, whose power is cut again and again, at a random
 * moment. After each time the same objects must be there, with the same identities and data, and all must run again. Prints how long that
 * took.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom, wholeNumber } from '@gantry/base';
import { optionsOrExit, testSeed } from '@gantry/base/testing';
import type { Node, Pod } from '@gantry/objects';
import { eventually } from './eventually.ts';
import { HostLab } from './host-lab.ts';
import { kubectlVersions } from './kubectl-versions.ts';
import { listedImages, serviceImages } from './lab-images.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const HOME = join(ROOT, '.gantry/reboots');
/** Not that of the hosts' tests or of the engine matrix. */
const NUMBER = 6;
const BRIDGE = '10.231.200.1/24';
const PATIENCE_MS = 600_000;
/** The power is cut at most so long after all was ready. */
const MAX_CALM_MS = 10_000;
/** Pods of the StatefulSet; the others are of a Deployment. */
const STATEFUL = 5;
/** As many as two nodes hold, beside the system's own. */
const MAX_PODS = 200;

const manifests = (pods: number) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: ${pods - STATEFUL}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{ name: main, image: busybox:1.36, command: [sleep, infinity] }]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: data }
spec:
  replicas: ${STATEFUL}
  serviceName: data
  podManagementPolicy: Parallel
  selector: { matchLabels: { app: data } }
  template:
    metadata: { labels: { app: data } }
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: busybox:1.36
          command: [sh, -c, 'hostname >> /data/starts && sync && exec sleep infinity']
          volumeMounts: [{ name: data, mountPath: /data }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Mi } } }
`;

const { times, pods } = optionsOrExit(() => {
  const { values } = parseArgs({
    options: { times: { type: 'string', default: '20' }, pods: { type: 'string', default: '50' } },
  });
  return {
    times: wholeNumber('--times', values.times, 1, 10_000),
    pods: wholeNumber('--pods', values.pods, STATEFUL + 1, MAX_PODS),
  };
});

await using lab = await HostLab.create(NUMBER, { bridge: BRIDGE, processes: 'own' });
await lab.load([...(await serviceImages(ROOT)), ...(await listedImages(ROOT))]);
const program = kubectlVersions(ROOT).at(-1)?.program ?? 'kubectl';
const kubectl = (...args: readonly string[]) => lab.must(program, args, { KUBECONFIG: join(HOME, 'kubeconfig') });
const script = (name: string) => lab.runInside(join(ROOT, 'deploy/bin', name), [], { GANTRY_HOME: HOME });

async function objects(): Promise<string> {
  const kinds = 'nodes,namespaces,services,deployments,replicasets,statefulsets,pods,pvc,pv,secrets';
  const columns = 'KIND:.kind,NS:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid';
  const lines = (await kubectl('get', kinds, '-A', '--no-headers', '-o', `custom-columns=${columns}`)).split('\n');
  return lines.toSorted().join('\n');
}

async function read<T>(...args: readonly string[]): Promise<readonly T[]> {
  const { items } = JSON.parse(await kubectl('get', ...args, '-o', 'json')) as { readonly items: readonly T[] };
  return items;
}

const notReady = (objects: readonly (Node | Pod)[]) =>
  objects
    .filter(({ status }) => !status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'))
    .map(({ metadata }) => metadata.name);

/** Throws while a node or a pod is not ready, and while a container that is reported does not run. */
async function lookWhole(): Promise<true> {
  const [nodes, found] = [await read<Node>('nodes'), await read<Pod>('pods', '-A')];
  const waiting = [...notReady(nodes), ...notReady(found)];
  if (waiting.length > 0) throw new Error(`not ready: ${waiting.join(', ')}`);
  const statuses = found.flatMap(({ status }) => status?.containerStatuses ?? []);
  const running = (await lab.must('docker', ['ps', '-q', '--no-trunc'])).split('\n').map((id) => `docker://${id}`);
  const missing = statuses.filter(({ containerID = '' }) => !running.includes(containerID));
  if (missing.length > 0) throw new Error(`${missing.length} containers that are reported do not run`);
  return true;
}

/** How often each pod of the StatefulSet has started, from its own data. Throws when a pod has another one's data. */
async function starts(): Promise<readonly number[]> {
  const counts: number[] = [];
  for (let index = 0; index < STATEFUL; index++) {
    const lines = (await kubectl('exec', `data-${index}`, '--', 'cat', '/data/starts')).split('\n');
    if (lines.some((line) => line !== `data-${index}`)) throw new Error(`data-${index} has data of another pod`);
    counts.push(lines.length);
  }
  return counts;
}

const random = seededRandom(testSeed('moments of reboots', 1 + Math.floor(Math.random() * 2 ** 31)));
const seconds: number[] = [];
try {
  if ((await script('up')) !== 0) throw new Error('the cluster does not start');
  await writeFile(join(HOME, 'pods.yaml'), manifests(pods));
  await kubectl('apply', '-f', join(HOME, 'pods.yaml'));
  await kubectl('rollout', 'status', 'deployment/web', '--timeout=600s');
  await kubectl('rollout', 'status', 'statefulset/data', '--timeout=600s');
  await eventually('all is ready', PATIENCE_MS, lookWhole);
  const before = await objects();
  for (let time = 1; time <= times; time++) {
    const started = await starts();
    await delay(random() * MAX_CALM_MS);
    await lab.reboot();
    const bootedAt = performance.now();
    await eventually('all is ready again', PATIENCE_MS, lookWhole);
    seconds.push((performance.now() - bootedAt) / 1000);
    const after = await objects();
    if (after !== before) throw new Error(`other objects than before:\n${difference(before, after)}`);
    const now = await starts();
    const lost = now.findIndex((count, index) => count <= (started[index] ?? 0));
    if (lost >= 0) throw new Error(`data-${lost} has started ${now[lost]} times, before it was ${started[lost]}`);
    process.stdout.write(
      `${time}: ready after ${seconds.at(-1)?.toFixed(1)} s; the same objects, identities and data\n`,
    );
  }
  const sorted = seconds.toSorted((one, other) => one - other);
  const half = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  process.stdout.write(
    `${times} reboots with ${pods} pods: half within ${half.toFixed(1)} s, all within ${sorted.at(-1)?.toFixed(1)} s\n`,
  );
} finally {
  await script('down');
  await rm(HOME, { recursive: true, force: true });
}

function difference(before: string, after: string): string {
  const [old, next] = [before.split('\n'), after.split('\n')];
  const gone = old.filter((line) => !next.includes(line)).map((line) => `- ${line}`);
  return [...gone, ...next.filter((line) => !old.includes(line)).map((line) => `+ ${line}`)].join('\n');
}

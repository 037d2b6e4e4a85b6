import { Buffer } from 'node:buffer';
import type { EtcdEvent } from '@gantry/chaos-checker';
import { CONTAINER_LABELS, prepareContainers } from '@gantry/etcd/testing';
import { GenericContainer, type StartedTestContainer } from 'testcontainers';
import { afterAll } from 'vitest';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

interface RawEvent {
  readonly type?: number;
  readonly kv: {
    readonly key: string;
    readonly create_revision?: number;
    readonly mod_revision: number;
    readonly value?: string;
    readonly version?: number;
  };
}

/** Starts a program of etcd's image in a container beside the cluster, with the API server's certificate. */
async function startBesideEtcd(
  cluster: Cluster,
  command: readonly [string, ...string[]],
): Promise<StartedTestContainer> {
  const [program, ...args] = command;
  const image = await cluster.docker(['inspect', '-f', '{{.Config.Image}}', `${cluster.clusterId}-etcd-0-1`]);
  return await new GenericContainer(image)
    .withLabels({ ...CONTAINER_LABELS })
    .withNetworkMode(`${cluster.clusterId}-control`)
    .withBindMounts([{ source: `${cluster.clusterId}_pki-apiserver-etcd`, target: '/tls', mode: 'ro' }])
    .withEnvironment({
      ETCDCTL_ENDPOINTS: 'https://etcd-0:2379,https://etcd-1:2379,https://etcd-2:2379',
      ETCDCTL_CACERT: '/tls/ca.crt',
      ETCDCTL_CERT: '/tls/tls.crt',
      ETCDCTL_KEY: '/tls/tls.key',
    })
    .withEntrypoint([program])
    .withCommand(args)
    .start();
}

const ETCDCTL = '/usr/local/bin/etcdctl';
const consoles = new Map<string, Promise<StartedTestContainer>>();

afterAll(async () => {
  const started = [...consoles.values()];
  consoles.clear();
  await Promise.all(started.map(async (container) => (await container).stop()));
});

/** The output of an etcdctl that must succeed, in a container that all questions of a test file share. */
async function etcdctl(cluster: Cluster, args: readonly string[]): Promise<string> {
  await prepareContainers();
  // The image has no shell to wait in, and a watch of the cluster ends by a fault: an etcd of its own keeps it running.
  const started =
    consoles.get(cluster.clusterId) ?? startBesideEtcd(cluster, ['/usr/local/bin/etcd', '--data-dir', '/tmp/etcd']);
  consoles.set(cluster.clusterId, started);
  const { exitCode, stdout, output } = await (await started).exec([ETCDCTL, ...args]);
  if (exitCode !== 0) throw new Error(`etcdctl ${args.join(' ')} ended with ${exitCode}: ${output}`);
  return stdout;
}

/** etcd's current revision. */
export async function currentRevision(cluster: Cluster): Promise<number> {
  const answer = JSON.parse(await etcdctl(cluster, ['get', '/gantry/incarnation', '-w', 'json'])) as {
    header: { revision: number };
  };
  return answer.header.revision;
}

/** etcd's history as it grows; it outlives a compaction, since it is read at once. Dispose of it to end it. */
export interface RecordedHistory extends AsyncDisposable {
  /** Everything up to this revision, in order. */
  until(revision: number): Promise<readonly EtcdEvent[]>;
}

/** Follows everything that is written to etcd from `fromRevision` on. */
export async function recordHistory(cluster: Cluster, fromRevision: number): Promise<RecordedHistory> {
  await prepareContainers();
  const watch = ['watch', '/', '--prefix', `--rev=${fromRevision}`, '-w', 'json'];
  const container = await startBesideEtcd(cluster, [ETCDCTL, ...watch]);
  let output = '';
  (await container.logs()).setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  return {
    until: (revision) =>
      eventually(`etcd's history up to ${revision} is read`, 120_000, () => {
        const events = output
          .split('\n')
          .slice(0, -1)
          .flatMap((line) => (JSON.parse(line) as { Events?: RawEvent[] }).Events ?? []);
        const last = events.at(-1)?.kv.mod_revision ?? 0;
        return last >= revision ? events.map(toEvent) : undefined;
      }),
    [Symbol.asyncDispose]: async () => {
      await container.stop();
    },
  };
}

/** Forgets etcd's history before `revision`. */
export async function compact(cluster: Cluster, revision: number): Promise<void> {
  await etcdctl(cluster, ['compact', String(revision)]);
}

function toEvent({ type, kv }: RawEvent): EtcdEvent {
  const key = Buffer.from(kv.key, 'base64').toString();
  if (type === 1) return { type: 'delete', key, modRevision: kv.mod_revision };
  const { value = '', create_revision: createRevision = 0, mod_revision: modRevision, version = 0 } = kv;
  return { type: 'put', key, value, createRevision, modRevision, version };
}

/** The election keys as they were at a revision. */
export async function electionsAt(cluster: Cluster, revision: number): Promise<ReadonlyMap<string, number>> {
  const args = ['get', '/gantry/elections/', '--prefix', '-w', 'json', `--rev=${revision}`];
  const answer = JSON.parse(await etcdctl(cluster, args)) as {
    kvs?: { key: string; create_revision: number }[];
  };
  return new Map((answer.kvs ?? []).map((kv) => [Buffer.from(kv.key, 'base64').toString(), kv.create_revision]));
}

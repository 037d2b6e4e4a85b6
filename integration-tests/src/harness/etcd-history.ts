import { Buffer } from 'node:buffer';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { startProgram } from './process.ts';

/** One event of etcd's history. */
export interface HistoryEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
}

interface RawEvent {
  readonly type?: number;
  readonly kv: {
    readonly key: string;
    readonly create_revision?: number;
    readonly mod_revision: number;
    readonly value?: string;
  };
}

/** The arguments of a throw-away container that speaks to etcd as the apiserver does. */
export async function etcdctl(cluster: Cluster, name: string, args: readonly string[]): Promise<readonly string[]> {
  const image = await cluster.docker(['inspect', '-f', '{{.Config.Image}}', `${cluster.clusterId}-etcd-0-1`]);
  return [
    'run',
    '--rm',
    '--name',
    name,
    '--network',
    `${cluster.clusterId}-control`,
    '-v',
    `${cluster.clusterId}_pki-apiserver-etcd:/tls:ro`,
    '--entrypoint',
    'etcdctl',
    image,
    '--endpoints=https://etcd-0:2379,https://etcd-1:2379,https://etcd-2:2379',
    '--cacert=/tls/ca.crt',
    '--cert=/tls/tls.crt',
    '--key=/tls/tls.key',
    ...args,
  ];
}

/** etcd's current revision. */
export async function currentRevision(cluster: Cluster): Promise<number> {
  const args = await etcdctl(cluster, `${cluster.clusterId}-probe-${Math.floor(performance.now())}`, [
    'get',
    '/gantry/incarnation',
    '-w',
    'json',
  ]);
  const answer = JSON.parse(await cluster.docker(args)) as { header: { revision: number } };
  return answer.header.revision;
}

/** etcd's history as it grows; it outlives a compaction, since it is read at once. Dispose of it to end it. */
export interface RecordedHistory extends AsyncDisposable {
  /** Everything up to this revision, in order. */
  until(revision: number): Promise<readonly HistoryEvent[]>;
}

/** Follows everything that is written to etcd from `fromRevision` on. */
export async function recordHistory(cluster: Cluster, fromRevision: number): Promise<RecordedHistory> {
  const name = `${cluster.clusterId}-history-${Math.floor(performance.now())}`;
  const watch = ['watch', '/', '--prefix', `--rev=${fromRevision}`, '-w', 'json'];
  const running = startProgram('docker', await etcdctl(cluster, name, watch), {});
  return {
    until: (revision) =>
      eventually(`etcd's history up to ${revision} is read`, 120_000, () => {
        const events = running
          .output()
          .split('\n')
          .slice(0, -1)
          .flatMap((line) => (JSON.parse(line) as { Events?: RawEvent[] }).Events ?? []);
        const last = events.at(-1)?.kv.mod_revision ?? 0;
        return last >= revision ? events.map(toEvent) : undefined;
      }),
    [Symbol.asyncDispose]: async () => {
      await cluster.docker(['rm', '-f', name]);
      await running[Symbol.asyncDispose]();
    },
  };
}

/** Forgets etcd's history before `revision`. */
export async function compact(cluster: Cluster, revision: number): Promise<void> {
  const name = `${cluster.clusterId}-compact-${Math.floor(performance.now())}`;
  await cluster.docker(await etcdctl(cluster, name, ['compact', String(revision)]));
}

function toEvent({ type, kv }: RawEvent): HistoryEvent {
  return {
    type: type === 1 ? 'delete' : 'put',
    key: Buffer.from(kv.key, 'base64').toString(),
    createRevision: kv.create_revision ?? 0,
    modRevision: kv.mod_revision,
    value: Buffer.from(kv.value ?? '', 'base64'),
  };
}

/** Who wrote a value under a fence: read from the envelope around every stored object. */
export interface FencedWrite {
  readonly key: string;
  readonly revision: number;
  readonly electionKey: string;
  readonly epoch: number;
}

/** The writes of leaders, those of deletions included. */
export function fencedWrites(history: readonly HistoryEvent[]): readonly FencedWrite[] {
  return history.flatMap((event) => {
    if (event.type !== 'put') return [];
    const fence = event.key.startsWith('/registry/')
      ? fenceOfEnvelope(event.value)
      : event.key.startsWith('/gantry/deleted/')
        ? fenceOfDeletion(event.value)
        : undefined;
    return fence === undefined || fence.electionKey === ''
      ? []
      : [{ key: event.key, revision: event.modRevision, ...fence }];
  });
}

const EPOCH_AT = 22;
const TEXTS_AT = 30;

function fenceOfEnvelope(value: Buffer): { electionKey: string; epoch: number } {
  const writerBytes = value[TEXTS_AT] ?? 0;
  const at = TEXTS_AT + 1 + writerBytes;
  const electionKey = value.subarray(at + 1, at + 1 + (value[at] ?? 0)).toString();
  return { electionKey, epoch: Number(value.readBigUInt64BE(EPOCH_AT)) };
}

function fenceOfDeletion(value: Buffer): { electionKey: string; epoch: number } {
  const { electionKey = '', epoch = 0 } = JSON.parse(value.toString()) as { electionKey?: string; epoch?: number };
  return { electionKey, epoch };
}

/**
 * The writes that landed although their epoch was over, or had not begun. An election key's life from its creation to its
 * deletion is the epoch that its create revision names.
 */
export function staleWrites(
  history: readonly HistoryEvent[],
  known: ReadonlyMap<string, number>,
): readonly FencedWrite[] {
  const epochs = new Map(known);
  const stale: FencedWrite[] = [];
  const writes = fencedWrites(history);
  let next = 0;
  for (const event of history) {
    for (; next < writes.length && (writes[next]?.revision ?? 0) <= event.modRevision; next++) {
      const write = writes[next];
      if (write !== undefined && epochs.get(write.electionKey) !== write.epoch) stale.push(write);
    }
    if (!event.key.startsWith('/gantry/elections/')) continue;
    if (event.type === 'delete') epochs.delete(event.key);
    else epochs.set(event.key, event.createRevision);
  }
  return stale;
}

/** The election keys as they were at a revision. */
export async function electionsAt(cluster: Cluster, revision: number): Promise<ReadonlyMap<string, number>> {
  const args = ['get', '/gantry/elections/', '--prefix', '-w', 'json', `--rev=${revision}`];
  const name = `${cluster.clusterId}-elections-${Math.floor(performance.now())}`;
  const answer = JSON.parse(await cluster.docker(await etcdctl(cluster, name, args))) as {
    kvs?: { key: string; create_revision: number }[];
  };
  return new Map((answer.kvs ?? []).map((kv) => [Buffer.from(kv.key, 'base64').toString(), kv.create_revision]));
}

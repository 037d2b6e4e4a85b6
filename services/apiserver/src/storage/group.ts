import type { Compare, KeyValue, Operation, OperationResult, Transaction } from '@gantry/etcd';
import { encodeEnvelope, readStored } from './envelope.ts';
import { deletedKeyOf, INCARNATION_KEY, resourceRootOf, revisionOf, versionOf } from './keys.ts';
import type { GuardedWrite, Unchanged, WriteOutcome } from './object-store.ts';
import type { Sealing } from './sealing.ts';

/** Limits of one etcd transaction. A write above `maxBytes` has a transaction of its own. */
export interface GroupLimits {
  readonly maxWrites: number;
  readonly maxBytes: number;
}

export const GROUP_LIMITS: GroupLimits = { maxWrites: 128, maxBytes: 1024 * 1024 };

/** Options for building transactions and for reading their results. */
export interface GuardOptions {
  readonly sealing: Sealing;
  /** Whether transactions compare fences. Only a test omits the compare, to prove that it is needed. */
  readonly fence: 'compared' | 'left-out-by-test';
}

/** A write with the id in its envelope. */
export interface IdentifiedWrite {
  readonly write: GuardedWrite;
  readonly writeId: Uint8Array;
}

/**
 * Chooses writes from the front of `waiting` for one transaction, within the limits. No write in it writes a key that another one
 * compares or writes, since all compares see the state before the transaction. The order of writes of one key is kept. Stops
 * reading when the group is full.
 */
export function chooseGroup<T extends IdentifiedWrite>(waiting: Iterable<T>, limits: GroupLimits): readonly T[] {
  const group: T[] = [];
  const written = new Set<string>();
  const touched = new Set<string>();
  let bytes = 0;
  for (const item of waiting) {
    const size = item.write.value?.length ?? 0;
    const keys = keysOf(item.write);
    const fits = group.length === 0 || bytes + size <= limits.maxBytes;
    if (fits && !keys.written.some((key) => touched.has(key)) && !keys.compared.some((key) => written.has(key))) {
      group.push(item);
      if (group.length === limits.maxWrites) break;
      bytes += size;
    }
    for (const key of keys.written) written.add(key);
    for (const key of [...keys.written, ...keys.compared]) touched.add(key);
  }
  return group;
}

function keysOf(write: GuardedWrite): { readonly written: readonly string[]; readonly compared: readonly string[] } {
  const fence = write.writer.fence;
  return {
    written: fence !== undefined && write.value === null ? [write.key, deletedKeyOf(write.key)] : [write.key],
    compared: [
      write.key,
      ...(write.unchanged ?? []).map(({ key }) => key),
      ...(fence === undefined ? [] : [fence.electionKey, INCARNATION_KEY]),
    ],
  };
}

/** The nested transaction of one write: its guard, its change, and a failure branch whose reads show why the guard did not hold. */
export function buildWrite(
  { write, writeId }: IdentifiedWrite,
  index: number,
  options: GuardOptions & { readonly deletionRecord: 'put' | 'omitted' },
): Transaction {
  const compared = keysOf(write).compared;
  return {
    compare: guardOf(write, options),
    success:
      write.value === null
        ? deleteOperations(write, options.deletionRecord)
        : [putOperation(write, writeId, index, options.sealing)],
    failure: [...new Set(compared)].map((key): Operation => ({ kind: 'range', key })),
  };
}

function guardOf(write: GuardedWrite, options: GuardOptions): readonly Compare[] {
  const own: Compare =
    write.expected === 'absent'
      ? { key: write.key, target: 'create-revision', equals: 0 }
      : { key: write.key, target: 'mod-revision', equals: revisionOf(write.expected) };
  const needed = (write.unchanged ?? []).map(
    (unchanged): Compare => ({ key: unchanged.key, target: 'mod-revision', equals: seenRevision(unchanged) }),
  );
  const fence = write.writer.fence;
  if (fence === undefined || options.fence === 'left-out-by-test') return [own, ...needed];
  return [
    own,
    ...needed,
    { key: fence.electionKey, target: 'create-revision', equals: fence.epoch },
    { key: INCARNATION_KEY, target: 'value', equals: Buffer.from(fence.incarnation) },
  ];
}

/** The mod revision of a key when it was read. In etcd, it is 0 for a key that does not exist. */
function seenRevision({ resourceVersion }: Unchanged): number {
  return resourceVersion === 'absent' ? 0 : revisionOf(resourceVersion);
}

function putOperation(write: GuardedWrite, writeId: Uint8Array, index: number, sealing: Sealing): Operation {
  const fence = write.writer.fence;
  const envelope = {
    index,
    writeId,
    writer: write.writer.name,
    electionKey: fence?.electionKey ?? '',
    epoch: fence?.epoch ?? 0,
    incarnation: fence?.incarnation ?? '',
    payload: write.value ?? new Uint8Array(),
  };
  const value = encodeEnvelope(write.key, envelope, sealing);
  return { kind: 'put', key: write.key, value };
}

function deleteOperations(write: GuardedWrite, record: 'put' | 'omitted'): readonly Operation[] {
  const fence = write.writer.fence;
  if (fence === undefined || record === 'omitted') return [{ kind: 'delete', key: write.key }];
  const { electionKey, epoch, incarnation } = fence;
  const value = Buffer.from(JSON.stringify({ electionKey, epoch, incarnation, writer: write.writer.name }));
  return [
    { kind: 'delete', key: write.key },
    { kind: 'put', key: deletedKeyOf(write.key), value },
  ];
}

/** The result of one write: success, or the reads of its failure branch. */
export type WriteResult =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly read: readonly KeyValue[] };

export function readResults(results: readonly OperationResult[]): readonly WriteResult[] {
  return results
    .filter((result) => result.kind === 'transaction')
    .map((result) =>
      result.succeeded
        ? { kind: 'succeeded' }
        : { kind: 'failed', read: result.results.flatMap((inner) => (inner.kind === 'range' ? inner.kvs : [])) },
    );
}

/**
 * The outcomes of a group that was committed at `revision`. A deletion has no envelope for its index. Its index is one more than that of
 * the previous event of its resource in the revision. Watches number it in the same way.
 */
export function outcomesOf(
  writes: readonly GuardedWrite[],
  results: readonly WriteResult[],
  revision: number,
  sealing: Sealing,
): readonly WriteOutcome[] {
  const lastIndex = new Map<string, number>();
  return writes.map((write, index) => {
    const result = results[index];
    if (result?.kind !== 'succeeded') return explainFailure(write, result?.read ?? [], sealing);
    const root = resourceRootOf(write.key);
    const own = write.value === null ? (lastIndex.get(root) ?? -1) + 1 : index;
    lastIndex.set(root, own);
    return { kind: 'committed', resourceVersion: versionOf(revision, own) };
  });
}

/** Why a write failed. A lost fence takes precedence, since it is final for the writer; a conflict comes last, since it may be retried. */
export function explainFailure(write: GuardedWrite, read: readonly KeyValue[], sealing: Sealing): WriteOutcome {
  const at = new Map(read.map((kv) => [kv.key, kv]));
  const fence = write.writer.fence;
  if (fence !== undefined) {
    const incarnation = at.get(INCARNATION_KEY)?.value;
    const same = incarnation !== undefined && Buffer.from(incarnation).toString() === fence.incarnation;
    if (!same || at.get(fence.electionKey)?.createRevision !== fence.epoch) return { kind: 'fenced' };
  }
  const changed = write.unchanged?.find(
    (unchanged) => (at.get(unchanged.key)?.modRevision ?? 0) !== seenRevision(unchanged),
  );
  if (changed !== undefined) return { kind: 'stale', key: changed.key };
  const current = at.get(write.key);
  return { kind: 'conflict', current: current === undefined ? null : readStored(current, sealing) };
}

/** Evaluates the guard of a write against the state before the group was committed. Used when the response of etcd was lost. */
export function judge(write: GuardedWrite, before: readonly KeyValue[], options: GuardOptions): WriteResult {
  const at = new Map(before.map((kv) => [kv.key, kv]));
  const holds = guardOf(write, options).every((compare) => {
    const kv = at.get(compare.key);
    switch (compare.target) {
      case 'create-revision':
        return (kv?.createRevision ?? 0) === compare.equals;
      case 'mod-revision':
        return (kv?.modRevision ?? 0) === compare.equals;
      case 'value':
        return kv !== undefined && Buffer.compare(kv.value, compare.equals) === 0;
      case 'exists':
        return kv !== undefined;
    }
  });
  return holds ? { kind: 'succeeded' } : { kind: 'failed', read: before };
}

/** All keys that the guard of a write compares. */
export function comparedKeys(write: GuardedWrite): readonly string[] {
  return [...new Set(keysOf(write).compared)];
}

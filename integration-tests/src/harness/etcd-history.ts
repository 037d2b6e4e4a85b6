import type { Buffer } from 'node:buffer';

/** One event of etcd's history. */
export interface HistoryEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
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

/** One change of etcd's tree, as `etcdctl watch` tells it. */
export interface HistoryEvent {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** Reads lines of `etcdctl watch --write-out=json`: each a response with its events. */
export function parseWatchLine(line: string): HistoryEvent[] {
  const response = JSON.parse(line) as { Events?: EtcdEvent[]; events?: EtcdEvent[] };
  return (response.Events ?? response.events ?? []).map((event) => ({
    kind: event.type === 1 || event.type === 'DELETE' ? 'delete' : 'put',
    key: Buffer.from(event.kv.key, 'base64').toString(),
    value: Buffer.from(event.kv.value ?? '', 'base64'),
    createRevision: Number(event.kv.create_revision ?? 0),
    modRevision: Number(event.kv.mod_revision ?? 0),
  }));
}

interface EtcdEvent {
  readonly type?: number | string;
  readonly kv: {
    readonly key: string;
    readonly value?: string;
    readonly create_revision?: number | string;
    readonly mod_revision?: number | string;
  };
}

/** Who wrote an object and under which fence, read from the header of the stored bytes (services/apiserver/src/storage/envelope.ts). */
export interface WriterMark {
  readonly writer: string;
  readonly electionKey: string;
  readonly epoch: number;
}

/** The writer of a stored object. */
export function readWriter(value: Uint8Array): WriterMark {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const epoch = Number(bytes.readBigUInt64BE(22));
  const writerLength = bytes.readUInt8(30);
  const writer = bytes.toString('utf8', 31, 31 + writerLength);
  const keyLength = bytes.readUInt8(31 + writerLength);
  return { writer, electionKey: bytes.toString('utf8', 32 + writerLength, 32 + writerLength + keyLength), epoch };
}

/** A write that landed although its epoch was over, or had not begun. */
export interface StaleWrite {
  readonly key: string;
  readonly revision: number;
  readonly electionKey: string;
  readonly epoch: number;
  /** The epoch that held when the write landed, undefined when nobody led. */
  readonly held: number | undefined;
}

/** What the history says of leadership. */
export interface FencingReport {
  readonly staleWrites: readonly StaleWrite[];
  /** Fenced writes that were looked at. */
  readonly checked: number;
  /** Epochs of each election key, in order. */
  readonly epochs: ReadonlyMap<string, readonly number[]>;
}

const ELECTIONS = '/gantry/elections/';

/**
 * Walks a gapless history and says which fenced writes landed outside their epoch. `held` are the election keys as they
 * stood before the first event.
 */
export function checkFencing(events: readonly HistoryEvent[], held: ReadonlyMap<string, number>): FencingReport {
  const current = new Map(held);
  const epochs = new Map<string, number[]>([...held].map(([key, epoch]) => [key, [epoch]]));
  const staleWrites: StaleWrite[] = [];
  let checked = 0;
  for (const group of byRevision(events)) {
    for (const event of group) {
      if (event.kind !== 'put' || !event.key.startsWith('/registry/')) continue;
      const { electionKey, epoch } = readWriter(event.value);
      if (electionKey === '') continue;
      checked++;
      // A guard sees the state before its transaction, so elections of the same revision do not count yet.
      if (current.get(electionKey) !== epoch) {
        staleWrites.push({
          key: event.key,
          revision: event.modRevision,
          electionKey,
          epoch,
          held: current.get(electionKey),
        });
      }
    }
    for (const event of group) {
      if (!event.key.startsWith(ELECTIONS)) continue;
      if (event.kind === 'delete') current.delete(event.key);
      else if (current.get(event.key) !== event.createRevision) {
        current.set(event.key, event.createRevision);
        epochs.set(event.key, [...(epochs.get(event.key) ?? []), event.createRevision]);
      }
    }
  }
  return { staleWrites, checked, epochs };
}

function byRevision(events: readonly HistoryEvent[]): HistoryEvent[][] {
  const groups: HistoryEvent[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    if (last?.[0]?.modRevision === event.modRevision) last.push(event);
    else groups.push([event]);
  }
  return groups;
}

import { Buffer } from 'node:buffer';
import type { HistoryEvent } from './etcd-history.ts';

/** One change of an object, as etcd tells it. */
export interface Change {
  readonly type: 'put' | 'delete';
  /** Below the resource's root: `namespace/name`. */
  readonly key: string;
  /** The resourceVersion that the change has in the API. */
  readonly version: number;
}

/** What one watch was told, from the version that it was opened at. Bookmarks stand among the events. */
export interface WatchRecording {
  /** The client: its recordings follow each other, each resuming where it likes. */
  readonly client: number;
  readonly from: number;
  readonly items: readonly (
    | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly key: string; readonly version: number }
    | { readonly type: 'BOOKMARK'; readonly version: number }
  )[];
}

const INDEX_AT = 2;
const VERSIONS_PER_REVISION = 256;

/**
 * The changes of one resource in etcd's history. A put's place in its transaction stands in its envelope; a deletion comes one
 * after the resource's preceding change in the same revision.
 */
export function changesOf(history: readonly HistoryEvent[], root: string): readonly Change[] {
  const changes: Change[] = [];
  let last = { revision: 0, index: -1 };
  for (const { type, key, modRevision, value } of history) {
    if (!key.startsWith(root)) continue;
    const before = last.revision === modRevision ? last.index : -1;
    const index = type === 'put' ? (Buffer.from(value)[INDEX_AT] ?? 0) : before + 1;
    last = { revision: modRevision, index };
    changes.push({ type, key: key.slice(root.length), version: modRevision * VERSIONS_PER_REVISION + index });
  }
  return changes;
}

/** What a watch's items break of what etcd promises of its own; empty when nothing. */
export type Validator = (recording: WatchRecording, changes: readonly Change[]) => readonly string[];

const eventsOf = ({ items }: WatchRecording) => items.flatMap((item) => (item.type === 'BOOKMARK' ? [] : [item]));

/** Versions never fall, bookmarks included, and nothing is told that is not after the watch's beginning. */
export const ordered: Validator = ({ items, from }) => {
  let last = from;
  return items.flatMap((item) => {
    const broken = item.version < last ? [`${item.type} ${item.version} after ${last}`] : [];
    last = item.version;
    return broken;
  });
};

/** No event comes twice in one watch. */
export const unique: Validator = (recording) => {
  const seen = new Set<number>([recording.from]);
  return eventsOf(recording).flatMap(({ version, key }) => {
    const broken = seen.has(version) ? [`${key}@${version} twice`] : [];
    seen.add(version);
    return broken;
  });
};

/** No gap: between the beginning and the newest event everything that happened was told. */
export const reliable: Validator = (recording, changes) => {
  const events = eventsOf(recording);
  const newest = events.at(-1)?.version ?? recording.from;
  const told = new Set(events.map(({ version }) => version));
  return changes
    .filter(({ version }) => version > recording.from && version <= newest && !told.has(version))
    .map(({ key, version }) => `${key}@${version} was not told`);
};

/** The first event is the first change after the version that was resumed from. */
export const resumable: Validator = (recording, changes) => {
  const [first] = eventsOf(recording);
  const due = changes.find(({ version }) => version > recording.from);
  return first === undefined || first.version === due?.version
    ? []
    : [`resumed at ${recording.from} with ${first.version} instead of ${due?.version}`];
};

/** A bookmark says that everything up to it was told, and nothing up to it comes later. */
export const bookmarkable: Validator = ({ from, items }, changes) => {
  const told = new Set<number>();
  let marked = from;
  return items.flatMap((item) => {
    if (item.type !== 'BOOKMARK') {
      told.add(item.version);
      return item.version <= marked ? [`${item.version} came after the bookmark ${marked}`] : [];
    }
    const missing = changes.filter(({ version }) => version > marked && version <= item.version && !told.has(version));
    marked = item.version;
    return missing.map(({ key, version }) => `bookmark ${item.version} before ${key}@${version}`);
  });
};

/** What was committed together is not torn apart: no bookmark lies between two events of one revision. */
export const atomic: Validator = ({ items }) => {
  const revisionOf = (version: number) => Math.floor(version / VERSIONS_PER_REVISION);
  return items.flatMap((item, index) => {
    const before = items[index - 1];
    const after = items[index + 1];
    if (item.type !== 'BOOKMARK' || before === undefined || after === undefined || after.type === 'BOOKMARK') return [];
    return revisionOf(before.version) === revisionOf(after.version)
      ? [`bookmark ${item.version} within a revision`]
      : [];
  });
};

/** Every event is a change that happened, and is called what it was. */
export const truthful: Validator = (recording, changes) => {
  const kinds = new Map<number, string>();
  const alive = new Set<string>();
  for (const { type, key, version } of changes) {
    kinds.set(version, `${type === 'delete' ? 'DELETED' : alive.has(key) ? 'MODIFIED' : 'ADDED'} ${key}`);
    if (type === 'delete') alive.delete(key);
    else alive.add(key);
  }
  return eventsOf(recording).flatMap(({ type, key, version }) => {
    const happened = kinds.get(version);
    return happened === `${type} ${key}` ? [] : [`${type} ${key}@${version}, but it was ${happened ?? 'nothing'}`];
  });
};

export const VALIDATORS: Readonly<Record<string, Validator>> = {
  ordered,
  unique,
  reliable,
  resumable,
  bookmarkable,
  atomic,
  truthful,
};

import { Buffer } from 'node:buffer';
import type { EtcdEvent } from './artifacts.ts';
import { decodeStored, resourceVersionOf, VERSIONS_PER_REVISION } from './history/stored-value.ts';

/** One change of an object in etcd's history. */
export interface ResourceChange {
  readonly type: 'put' | 'delete';
  /** Below the resource's root: `namespace/name`. */
  readonly key: string;
  /** The resourceVersion that the change has in the API. */
  readonly version: number;
}

/** What one watch returned, from the version at which it was opened. Bookmarks are among the events. */
export interface WatchRecording {
  /** The client. */
  readonly client: number;
  readonly from: number;
  readonly items: readonly (
    | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly key: string; readonly version: number }
    | { readonly type: 'BOOKMARK'; readonly version: number }
  )[];
}

/**
 * The changes of one resource, or of one namespace of it. A put's place in its transaction is in its header; a deletion comes one after
 * the resource's preceding change in the same revision.
 */
export function changesOf(history: readonly EtcdEvent[], root: string): readonly ResourceChange[] {
  const changes: ResourceChange[] = [];
  let last = { revision: 0, index: -1 };
  for (const event of history) {
    if (!event.key.startsWith(root)) continue;
    const before = last.revision === event.modRevision ? last.index : -1;
    const stored = event.type === 'put' ? decodeStored(Buffer.from(event.value, 'base64')) : undefined;
    const index = typeof stored === 'object' ? stored.index : before + 1;
    last = { revision: event.modRevision, index };
    const version = resourceVersionOf(event.modRevision, index);
    changes.push({ type: event.type, key: event.key.slice(root.length), version });
  }
  return changes;
}

/** The changes of a resource in order, with what watches call them. Built once for all watches. */
export class ChangeLog {
  /** Sorted by version. */
  readonly changes: readonly ResourceChange[];
  readonly #versionsPerRevision: number;
  /** `ADDED namespace/name` by version. */
  readonly #kinds = new Map<number, string>();

  constructor(changes: readonly ResourceChange[], versionsPerRevision = VERSIONS_PER_REVISION) {
    this.changes = changes;
    this.#versionsPerRevision = versionsPerRevision;
    const alive = new Set<string>();
    for (const { type, key, version } of changes) {
      this.#kinds.set(version, `${type === 'delete' ? 'DELETED' : alive.has(key) ? 'MODIFIED' : 'ADDED'} ${key}`);
      if (type === 'delete') alive.delete(key);
      else alive.add(key);
    }
  }

  /** What a watch should say of a version. */
  kindOf(version: number): string | undefined {
    return this.#kinds.get(version);
  }

  /** Whether two versions are of one revision of etcd. */
  areTogether(one: number, other: number): boolean {
    return Math.floor(one / this.#versionsPerRevision) === Math.floor(other / this.#versionsPerRevision);
  }

  /** The first change after a version. */
  firstAfter(version: number): ResourceChange | undefined {
    return this.changes[this.#indexAfter(version)];
  }

  /** Changes after one version, up to and with another. */
  between(after: number, upTo: number): readonly ResourceChange[] {
    return this.changes.slice(this.#indexAfter(after), this.#indexAfter(upTo));
  }

  #indexAfter(version: number): number {
    let [low, high] = [0, this.changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.changes[middle]?.version ?? 0) <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** What breaks a promise of watches in a recording: the number of its item, from 0, or of the watch as a whole. Empty if nothing does. */
export type Validator = (
  recording: WatchRecording,
  log: ChangeLog,
) => readonly { readonly what: string; readonly item: number | undefined }[];

/** Versions never fall, bookmarks included, and none is older than the watch's beginning. */
export const ordered: Validator = ({ items, from }) => {
  let last = from;
  return items.flatMap(({ type, version }, item) => {
    const what = `${type} ${version} after ${last}`;
    const broken = version < last ? [{ what, item }] : [];
    last = version;
    return broken;
  });
};

/** No event comes twice in one watch. */
export const unique: Validator = ({ items, from }) => {
  const seen = new Set<number>([from]);
  return items.flatMap((one, item) => {
    if (one.type === 'BOOKMARK') return [];
    const broken = seen.has(one.version) ? [{ what: `${one.key}@${one.version} twice`, item }] : [];
    seen.add(one.version);
    return broken;
  });
};

/** What was committed together is not split: no bookmark is between two events of one revision. */
export const atomic: Validator = ({ items }, log) =>
  items.flatMap(({ type, version }, item) => {
    const before = items[item - 1];
    const after = items[item + 1];
    if (type !== 'BOOKMARK' || before === undefined || after === undefined || after.type === 'BOOKMARK') return [];
    return log.areTogether(before.version, after.version)
      ? [{ what: `bookmark ${version} within a revision`, item }]
      : [];
  });

/** No gap: every change between the beginning and the newest event was delivered. */
export const reliable: Validator = ({ items, from }, log) => {
  const versions = items.flatMap((item) => (item.type === 'BOOKMARK' ? [] : [item.version]));
  const delivered = new Set(versions);
  return log
    .between(from, versions.at(-1) ?? from)
    .filter(({ version }) => !delivered.has(version))
    .map(({ key, version }) => ({
      what: `${key}@${version} was not delivered`,
      item: items.findIndex((one) => one.version > version),
    }));
};

/** The first event is the first change after the version at which the watch began. */
export const resumable: Validator = ({ items, from }, log) => {
  const item = items.findIndex(({ type }) => type !== 'BOOKMARK');
  const first = items[item];
  const due = log.firstAfter(from);
  return first === undefined || first.version === due?.version
    ? []
    : [{ what: `began after ${from} with ${first.version} instead of ${due?.version}`, item }];
};

/** A bookmark says that everything up to it was delivered: nothing is missing before it, and nothing up to it comes later. */
export const bookmarkable: Validator = ({ from, items }, log) => {
  const delivered = new Set<number>();
  let marked = from;
  return items.flatMap((one, item) => {
    if (one.type !== 'BOOKMARK') {
      delivered.add(one.version);
      return one.version <= marked ? [{ what: `${one.version} came after the bookmark ${marked}`, item }] : [];
    }
    const missing = log.between(marked, one.version).filter(({ version }) => !delivered.has(version));
    marked = Math.max(marked, one.version);
    return missing.map(({ key, version }) => ({ what: `bookmark ${one.version} before ${key}@${version}`, item }));
  });
};

/** Every event is a change that happened, with its type. */
export const truthful: Validator = ({ items }, log) =>
  items.flatMap((one, item) => {
    if (one.type === 'BOOKMARK') return [];
    const happened = log.kindOf(one.version);
    const what = `${one.type} ${one.key}@${one.version}, but it was ${happened ?? 'nothing'}`;
    return happened === `${one.type} ${one.key}` ? [] : [{ what, item }];
  });

export const VALIDATORS: Readonly<Record<string, Validator>> = {
  ordered,
  unique,
  reliable,
  resumable,
  bookmarkable,
  atomic,
  truthful,
};

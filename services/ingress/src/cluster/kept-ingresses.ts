import { formatKey, type Ingress, keyOf } from '@gantry/objects';
import { fairShare } from '../rules/bounds.ts';
import { sizeOf } from '../rules/planned-part.ts';

/** How much the Ingresses in the cache may name, as `sizeOf` counts. */
export interface CacheBounds {
  readonly ofNamespace: number;
  /** Of all namespaces that have more than `least`. */
  readonly all: number;
  /** Of a namespace also where others have used up what there is for all. */
  readonly least: number;
}

interface Entry {
  readonly key: string;
  readonly namespace: string;
  readonly size: number;
  readonly created: string;
  /** With its rules; undefined where it is left out, or was not listed again yet. */
  part: Ingress | undefined;
  isKept: boolean;
  /** Kept before the changes that `settle` decides on: it stays before others. */
  wasKept: boolean;
}

interface Entries {
  readonly byKey: Map<string, Entry>;
  /** Sizes of all its Ingresses, and of those that are kept. */
  wanted: number;
  kept: number;
}

/**
 * Which Ingresses the cache holds with their rules, by a bound for each namespace and one for all. Where namespaces want more than the
 * bound for all, each has what fits its fair share, and more only while no other one's share needs the room. Within a namespace those that
 * were kept before come first, then the oldest.
 */
export class KeptIngresses {
  readonly #bounds: CacheBounds;
  readonly #namespaces = new Map<string, Entries>();
  /** Since the last `confirm`. */
  readonly #changed = new Set<Entry>();
  #mayHaveRoom = true;

  /** For a new list: what was kept `before` has its room until it is listed, or the list ends. */
  constructor(bounds: CacheBounds, before?: KeptIngresses) {
    this.#bounds = bounds;
    for (const { byKey } of before === undefined ? [] : before.#namespaces.values()) {
      for (const entry of byKey.values()) {
        if (entry.isKept) this.#add({ ...entry, part: undefined, wasKept: true });
      }
    }
  }

  /** Takes an Ingress, or a later version of it. `settle` decides whether it is kept. */
  put(ingress: Ingress): void {
    const key = formatKey(keyOf(ingress));
    const { namespace = '', creationTimestamp: created = '' } = ingress.metadata;
    const size = sizeOf(ingress);
    const old = this.#entry(ingress);
    if (old !== undefined) this.#delete(old);
    const wasKept = old?.wasKept === true && size <= old.size;
    const entry: Entry = { key, namespace, size, created, part: ingress, isKept: true, wasKept };
    this.#add(entry);
    this.#changed.add(entry);
  }

  remove(ingress: Ingress): void {
    const entry = this.#entry(ingress);
    if (entry !== undefined) this.#delete(entry);
  }

  isKept(ingress: Ingress): boolean {
    return this.#entry(ingress)?.isKept === true;
  }

  /** Leaves out what there is no room for; returns these Ingresses, with their rules. */
  settle(): readonly Ingress[] {
    const { ofNamespace, all } = this.#bounds;
    const left: (Ingress | undefined)[] = [];
    const namespaces = [...this.#namespaces.values()];
    for (const entries of namespaces) {
      for (const entry of beyond(entries, ofNamespace)) left.push(this.#leaveOut(entry));
    }
    if (this.#total() > all) {
      const share = this.#share();
      const others = namespaces.flatMap((entries) => beyond(entries, share));
      const within = new Map(namespaces.map((entries) => [entries, entries.kept]));
      const grow = (entry: Entry, size: number) => {
        const entries = this.#namespaces.get(entry.namespace);
        const own = entries === undefined ? 0 : (within.get(entries) ?? 0);
        if (entries !== undefined) within.set(entries, own + size);
        return this.#counted(own + size) - this.#counted(own);
      };
      let total = this.#total();
      for (const entry of others) total += grow(entry, -entry.size);
      for (const entry of others.toSorted(byRank)) {
        const more = grow(entry, entry.size);
        if (total + more <= all) total += more;
        else {
          grow(entry, -entry.size);
          left.push(this.#leaveOut(entry));
        }
      }
    }
    return left.filter((part) => part !== undefined);
  }

  /** What is kept now stays before what comes. */
  confirm(): void {
    for (const entry of this.#changed) entry.wasKept = entry.isKept;
    this.#changed.clear();
  }

  /** Ends a list: forgets what it did not have. */
  endList(): void {
    for (const { byKey } of this.#namespaces.values()) {
      for (const entry of byKey.values()) if (!this.#changed.has(entry)) this.#delete(entry);
    }
    this.confirm();
  }

  /** Whether an Ingress that was left out would be kept by a list now. */
  hasRoom(): boolean {
    if (!this.#mayHaveRoom) return false;
    const { ofNamespace, all } = this.#bounds;
    const share = this.#share();
    const total = this.#total();
    const fits = (kept: number, own: number) =>
      own <= share || (own <= ofNamespace && total - this.#counted(kept) + this.#counted(own) <= all);
    this.#mayHaveRoom = [...this.#namespaces.values()].some(
      ({ byKey, wanted, kept }) =>
        wanted > kept && [...byKey.values()].some(({ isKept, size }) => !isKept && fits(kept, kept + size)),
    );
    return this.#mayHaveRoom;
  }

  /** What each namespace has in any case. */
  #share(): number {
    const { ofNamespace, all, least } = this.#bounds;
    const wanted = [...this.#namespaces.values()].map((entries) => this.#counted(entries.wanted));
    return Math.max(least, fairShare(wanted, { each: ofNamespace, all }));
  }

  #total(): number {
    return [...this.#namespaces.values()].reduce((sum, { kept }) => sum + this.#counted(kept), 0);
  }

  #counted(size: number): number {
    return size <= this.#bounds.least ? 0 : size;
  }

  #entry(ingress: Ingress): Entry | undefined {
    return this.#namespaces.get(ingress.metadata.namespace ?? '')?.byKey.get(formatKey(keyOf(ingress)));
  }

  #add(entry: Entry): void {
    const { key, namespace, size, isKept } = entry;
    const entries = this.#namespaces.get(namespace) ?? { byKey: new Map<string, Entry>(), wanted: 0, kept: 0 };
    this.#namespaces.set(namespace, entries);
    entries.byKey.set(key, entry);
    entries.wanted += size;
    if (isKept) entries.kept += size;
  }

  #delete(entry: Entry): void {
    const { key, namespace, size, isKept } = entry;
    const entries = this.#namespaces.get(namespace);
    this.#changed.delete(entry);
    if (entries?.byKey.delete(key) !== true) return;
    entries.wanted -= size;
    if (isKept) entries.kept -= size;
    if (entries.byKey.size === 0) this.#namespaces.delete(namespace);
    this.#mayHaveRoom = true;
  }

  #leaveOut(entry: Entry): Ingress | undefined {
    const { part } = entry;
    const entries = this.#namespaces.get(entry.namespace);
    if (entries !== undefined) entries.kept -= entry.size;
    entry.isKept = false;
    entry.wasKept = false;
    entry.part = undefined;
    this.#mayHaveRoom = true;
    return part;
  }
}

/** The kept Ingresses of a namespace that do not fit `most` beside those that stay before them. */
function beyond({ byKey, kept }: Entries, most: number): readonly Entry[] {
  if (kept <= most) return [];
  const found: Entry[] = [];
  let own = 0;
  for (const entry of [...byKey.values()].filter(({ isKept }) => isKept).toSorted(byRank)) {
    if (own + entry.size <= most) own += entry.size;
    else found.push(entry);
  }
  return found;
}

/** Those that stay before others come first. */
function byRank(one: Entry, other: Entry): number {
  if (one.wasKept !== other.wasKept) return one.wasKept ? -1 : 1;
  if (one.created !== other.created) return one.created < other.created ? -1 : 1;
  return one.key < other.key ? -1 : 1;
}

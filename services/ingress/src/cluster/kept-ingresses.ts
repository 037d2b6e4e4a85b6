import { formatKey, type Ingress, keyOf } from '@gantry/objects';
import { fairShare } from '../rules/bounds.ts';
import { sizeOf } from '../rules/planned-part.ts';

/** Bounds for the total size of the Ingresses in the cache, as `sizeOf` counts it. */
export interface CacheBounds {
  readonly ofNamespace: number;
  /** The bound for all namespaces together that have more than `least`. */
  readonly all: number;
  /** Each namespace may have this size even if others have used up the bound for all. */
  readonly least: number;
}

interface Entry {
  readonly key: string;
  readonly namespace: string;
  readonly size: number;
  readonly created: string;
  /** The Ingress with its rules. Undefined if it is left out, or has not been listed again yet. */
  part: Ingress | undefined;
  isKept: boolean;
  /** Whether the Ingress was kept before the changes that `settle` decides on. If so, it takes precedence over others. */
  wasKept: boolean;
}

interface Entries {
  readonly byKey: Map<string, Entry>;
  /** The total sizes of all its Ingresses, and of the kept ones. */
  wanted: number;
  kept: number;
}

/**
 * Decides which Ingresses the cache holds with their rules. There is a bound for each namespace and one for all. If namespaces want more
 * than the bound for all, each has as much as fits its fair share, and more only while no other namespace needs the room for its share.
 * Within a namespace, Ingresses that were kept before come first, then the oldest.
 */
export class KeptIngresses {
  readonly #bounds: CacheBounds;
  readonly #namespaces = new Map<string, Entries>();
  /** The changed entries since the last `confirm`. */
  readonly #changed = new Set<Entry>();
  #mayHaveRoom = true;

  /** For a new list: the Ingresses that were kept `before` keep their room until they are listed or the list ends. */
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

  /** Leaves out the Ingresses that have no room. Returns them with their rules. */
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

  /** Marks the kept Ingresses. They take precedence over later ones. */
  confirm(): void {
    for (const entry of this.#changed) entry.wasKept = entry.isKept;
    this.#changed.clear();
  }

  /** Ends a list: forgets the Ingresses that it did not contain. */
  endList(): void {
    for (const { byKey } of this.#namespaces.values()) {
      for (const entry of byKey.values()) if (!this.#changed.has(entry)) this.#delete(entry);
    }
    this.confirm();
  }

  /** Whether a list would now keep an Ingress that was left out. */
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

  /** Returns the share that each namespace has in any case. */
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

/** Returns the kept Ingresses of a namespace that do not fit `most`, after those with precedence. */
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

/** Sorts Ingresses with precedence first. */
function byRank(one: Entry, other: Entry): number {
  if (one.wasKept !== other.wasKept) return one.wasKept ? -1 : 1;
  if (one.created !== other.created) return one.created < other.created ? -1 : 1;
  return one.key < other.key ? -1 : 1;
}

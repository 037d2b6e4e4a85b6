import type { ResourceDefinition, StorageForm } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { type EncodeProtobuf, SharedResponse } from './object-response.ts';
import { type Entry, entryAt, withVersion } from './entry.ts';
import type { RetainedBytes } from './retained-bytes.ts';
import type { CacheEvent } from './event-ring.ts';

/** The objects that a list or watch selects. `matches` also checks `key` and `nodeName`, which only speed up the search. */
export interface Filter {
  readonly namespace: string;
  readonly matches: (object: KubeObject) => boolean;
  /** True when the filter selects all objects of the namespace. Then the count of remaining objects is exact. */
  readonly selectsAll: boolean;
  /** The key of the only object that can match, if the selector has a name. */
  readonly key?: string;
  /** The value that the selector requires for `spec.nodeName`. */
  readonly nodeName?: string;
}

/**
 * Converts stored objects to one version of their resource. A converted object is kept as long as its stored entry, so that all readers
 * of this version share it and its encoded bytes.
 */
export interface View {
  /** Whether a webhook converts the objects. If so, `prepare` must be called before `entry`. */
  readonly remote: boolean;
  /** Converts the entries with the webhook, so that `entry` can return them. Rejects with StatusError when the webhook fails. */
  prepare(entries: readonly Entry[]): Promise<void>;
  entry(stored: Entry): Entry;
  event(event: CacheEvent): CacheEvent;
}

/** The view of the storage version, which needs no conversion. */
export const STORED_VIEW: View = {
  remote: false,
  prepare: () => Promise.resolve(),
  entry: (stored) => stored,
  event: (event) => event,
};

/** The view of a definition. */
export function createView(definition: ResourceDefinition, encode: EncodeProtobuf, retained: RetainedBytes): View {
  return definition.storage === undefined ? STORED_VIEW : new ConvertingView(definition.storage, encode, retained);
}

class ConvertingView implements View {
  readonly #form: StorageForm;
  readonly #encode: EncodeProtobuf;
  readonly #retained: RetainedBytes;
  readonly #entries = new WeakMap<Entry, Entry>();
  readonly #events = new WeakMap<CacheEvent, CacheEvent>();

  constructor(form: StorageForm, encode: EncodeProtobuf, retained: RetainedBytes) {
    this.#form = form;
    this.#encode = encode;
    this.#retained = retained;
  }

  get remote(): boolean {
    return this.#form.remote !== undefined;
  }

  async prepare(entries: readonly Entry[]): Promise<void> {
    const { remote } = this.#form;
    if (remote === undefined) return;
    const missing = entries.filter((entry) => !this.#entries.has(entry));
    if (missing.length === 0) return;
    const shown = await remote.fromStored(missing.map((entry) => entry.response.object));
    for (const [i, entry] of missing.entries()) {
      const object = shown[i];
      if (object !== undefined) this.#keep(entry, object);
    }
  }

  entry(stored: Entry): Entry {
    return this.#entries.get(stored) ?? this.#keep(stored, this.#form.fromStored(stored.response.object));
  }

  event(event: CacheEvent): CacheEvent {
    const known = this.#events.get(event);
    if (known !== undefined) return known;
    const old = event.old === undefined ? undefined : this.entry(event.old);
    const current = event.current === undefined ? undefined : this.entry(event.current);
    const gone = () =>
      old === undefined ? undefined : entryAt(old, event.resourceVersion, this.#encode, this.#retained);
    const { resourceVersion, at, bytes } = event;
    const shown: CacheEvent = { resourceVersion, at, old, current, bytes, gone, items: {} };
    this.#events.set(event, shown);
    return shown;
  }

  #keep(stored: Entry, object: KubeObject): Entry {
    const { key, resourceVersion } = stored;
    const response = new SharedResponse(withVersion(object, resourceVersion), this.#encode, this.#retained);
    const entry: Entry = { key, resourceVersion, response };
    this.#entries.set(stored, entry);
    return entry;
  }
}

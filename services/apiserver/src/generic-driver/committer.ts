import { type GroupResource, type KubeObject, type ResourceDefinition, StatusError } from '@gantry/api';
import { createEntry, type Entry, objectKey, SharedAnswer, withVersion } from '../cache/index.ts';
import type { Answer, RequestContext } from '../driver.ts';
import type { Fence, GuardedWrite, ObjectStore, WriteOutcome } from '../storage/object-store.ts';
import { fencedError } from './fences.ts';
import { encodeProtobuf } from './machinery.ts';
import { toStored } from './metadata.ts';
import { fromStore } from './store-errors.ts';
import type { Reader } from './reader.ts';
import { groupResource } from './target.ts';

/** An object's JSON may be this large, as with Kubernetes' etcd. */
const MAX_OBJECT_BYTES = 1_572_864;

const encoder = new TextEncoder();

/** What became of a write: stored, or what is stored instead. */
export type Committed =
  | { readonly kind: 'committed'; readonly answer: Answer }
  | { readonly kind: 'conflict'; readonly current: Entry | undefined };

/** A key of `unchanged` is not as it was read. */
export interface Stale {
  readonly kind: 'stale';
  readonly key: string;
}

/** One write as the driver decided it. */
export interface PlannedWrite {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  readonly expected: GuardedWrite['expected'];
  /** The object to store, or undefined to delete; `answer` is what a deletion answers. */
  readonly object: KubeObject | undefined;
  readonly mustExist: readonly string[];
  readonly fence: Fence | undefined;
}

/** An object in the form in which it is stored. */
export async function storedForm({ storage }: ResourceDefinition, object: KubeObject): Promise<KubeObject> {
  if (storage === undefined) return object;
  return storage.remote === undefined ? storage.toStored(object) : storage.remote.toStored(object);
}

/** Carries planned writes into the store and tells their outcomes in the API's terms. */
export class Committer {
  readonly #store: ObjectStore;
  readonly #reader: Reader;
  readonly #onCommitted: (of: GroupResource, resourceVersion: number) => void;

  constructor(
    store: ObjectStore,
    reader: Reader,
    onCommitted: (of: GroupResource, resourceVersion: number) => void = () => undefined,
  ) {
    this.#store = store;
    this.#reader = reader;
    this.#onCommitted = onCommitted;
  }

  /** Stores or deletes. A deletion's answer is `last` at the version of the deletion. */
  async commit(write: PlannedWrite, last: KubeObject): Promise<Committed> {
    const outcome = await this.commitUnlessStale(write, [], last);
    if (outcome.kind === 'stale') throw StatusError.conflict(groupResource(write.definition), write.name);
    return outcome;
  }

  /** The same, only while the keys of `unchanged` are as they were read. */
  async commitUnlessStale(
    write: PlannedWrite,
    unchanged: NonNullable<GuardedWrite['unchanged']>,
    last: KubeObject,
  ): Promise<Committed | Stale> {
    const { context, definition, namespace, name, fence } = write;
    const stored = write.object === undefined ? undefined : await storedForm(definition, write.object);
    const outcome = await fromStore(
      this.#store.write(
        {
          key: objectKey(definition, namespace, name),
          expected: write.expected,
          value: stored === undefined ? null : encodeObject(stored),
          mustExist: write.mustExist,
          unchanged,
          writer: { name: context.user.name, ...(fence === undefined ? {} : { fence }) },
        },
        context.signal,
      ),
    );
    if (outcome.kind === 'missing' && unchanged.some(({ key }) => key === outcome.key)) {
      return { kind: 'stale', key: outcome.key };
    }
    return this.#tell(outcome, write, stored, last);
  }

  async #tell(
    outcome: WriteOutcome,
    write: PlannedWrite,
    stored: KubeObject | undefined,
    last: KubeObject,
  ): Promise<Committed> {
    const { definition, namespace, name, fence } = write;
    switch (outcome.kind) {
      case 'committed': {
        const { resourceVersion } = outcome;
        this.#onCommitted(definition, resourceVersion);
        const answer = new SharedAnswer(withVersion(stored ?? last, resourceVersion), encodeProtobuf);
        if (stored === undefined || definition.storage === undefined) return { kind: 'committed', answer };
        // What is answered is what a read would give: the other form may not say all that was sent.
        const entry = { key: objectKey(definition, namespace, name), resourceVersion, answer };
        return { kind: 'committed', answer: (await this.#reader.shown(definition, entry)).answer };
      }
      case 'conflict':
        return {
          kind: 'conflict',
          current: outcome.current === null ? undefined : createEntry(outcome.current, encodeProtobuf),
        };
      case 'missing':
        throw missingError(outcome.key, definition, name);
      case 'fenced':
        throw fencedError(definition, name, fence);
    }
  }
}

function missingError(key: string, definition: ResourceDefinition, name: string): StatusError {
  return StatusError.conflict(groupResource(definition), name, `${key} is gone; please try again`);
}

function encodeObject(object: KubeObject): Uint8Array {
  const bytes = encoder.encode(JSON.stringify(toStored(object)));
  if (bytes.length > MAX_OBJECT_BYTES) {
    throw new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_OBJECT_BYTES}`);
  }
  return bytes;
}

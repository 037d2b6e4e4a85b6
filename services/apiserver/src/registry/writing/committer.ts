import type { ResourceDefinition } from '@gantry/apimachinery';
import { type KubeObject, StatusError } from '@gantry/objects';
import { createEntry, type Entry, objectKey, SharedResponse, withVersion } from '../../cache/index.ts';
import type { RequestContext } from '../contract/registry.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { Fence, GuardedWrite, ObjectStore, Unchanged, WriteOutcome } from '../../storage/object-store.ts';
import { fencedError } from './fences.ts';
import { encodeProtobuf } from '../objects/response-of.ts';
import { toStored } from '../objects/metadata.ts';
import { fromStore } from '../../storage/store-errors.ts';
import type { Reader } from '../reading/reader.ts';
import { groupResource } from '../contract/target.ts';
import type { WrittenRevision } from './written-revision.ts';

/** Maximum size of an object's JSON, as with etcd's limit in Kubernetes. */
const MAX_OBJECT_BYTES = 1_572_864;

const encoder = new TextEncoder();

/** The outcome of a write. After a conflict, `current` is the stored object. */
export type Committed =
  | { readonly kind: 'committed'; readonly response: ObjectResponse }
  | { readonly kind: 'conflict'; readonly current: Entry | undefined };

/** One write that is ready to be committed. */
export interface PlannedWrite {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  readonly expected: GuardedWrite['expected'];
  /** The object to store; undefined to delete. */
  readonly object: KubeObject | undefined;
  readonly fence: Fence | undefined;
}

/** Converts an object to its storage version. */
export async function storedForm({ storage }: ResourceDefinition, object: KubeObject): Promise<KubeObject> {
  if (storage === undefined) return object;
  return storage.remote === undefined ? storage.toStored(object) : storage.remote.toStored(object);
}

/** Sends planned writes to the store and converts their outcomes to API objects and errors. */
export class Committer {
  readonly #store: ObjectStore;
  readonly #reader: Reader;
  readonly #written: WrittenRevision;

  constructor(store: ObjectStore, reader: Reader, written: WrittenRevision) {
    this.#store = store;
    this.#reader = reader;
    this.#written = written;
  }

  /** Stores or deletes an object. The response of a delete is `last` with the version of the deletion. */
  async commit(write: PlannedWrite, last: KubeObject): Promise<Committed> {
    const outcome = await this.commitUnlessStale(write, [], last);
    if (outcome.kind === 'stale') throw StatusError.conflict(groupResource(write.definition), write.name);
    return outcome;
  }

  /** Like `commit`, but only if the keys of `unchanged` have not changed since they were read. */
  async commitUnlessStale(
    write: PlannedWrite,
    unchanged: readonly Unchanged[],
    last: KubeObject,
  ): Promise<Committed | Extract<WriteOutcome, { kind: 'stale' }>> {
    const { context, definition, namespace, name, fence } = write;
    const stored = write.object === undefined ? undefined : await storedForm(definition, write.object);
    const outcome = await fromStore(
      this.#store.write(
        {
          key: objectKey(definition, namespace, name),
          expected: write.expected,
          value: stored === undefined ? null : encodeObject(stored),
          unchanged,
          writer: { name: context.user.name, fence },
        },
        context.signal,
      ),
    );
    return outcome.kind === 'stale' ? outcome : this.#translate(outcome, write, stored, last);
  }

  async #translate(
    outcome: Exclude<WriteOutcome, { kind: 'stale' }>,
    write: PlannedWrite,
    stored: KubeObject | undefined,
    last: KubeObject,
  ): Promise<Committed> {
    const { definition, namespace, name, fence } = write;
    switch (outcome.kind) {
      case 'committed': {
        const { resourceVersion } = outcome;
        this.#written.note(definition, resourceVersion);
        const response = new SharedResponse(withVersion(stored ?? last, resourceVersion), encodeProtobuf);
        if (stored === undefined || definition.storage === undefined) return { kind: 'committed', response };
        // The response is what a read would return. The stored form may lack fields of the request.
        const entry = { key: objectKey(definition, namespace, name), resourceVersion, response };
        return { kind: 'committed', response: (await this.#reader.shown(definition, entry)).response };
      }
      case 'conflict':
        return {
          kind: 'conflict',
          current: outcome.current === null ? undefined : createEntry(outcome.current, encodeProtobuf),
        };
      case 'fenced':
        throw fencedError(definition, name, fence);
    }
  }
}

function encodeObject(object: KubeObject): Uint8Array {
  const bytes = encoder.encode(JSON.stringify(toStored(object)));
  if (bytes.length > MAX_OBJECT_BYTES) {
    throw new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_OBJECT_BYTES}`);
  }
  return bytes;
}

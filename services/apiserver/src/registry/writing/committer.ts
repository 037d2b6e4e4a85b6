import type { ResourceDefinition } from '@gantry/apimachinery';
import type { LeaseFence } from '@gantry/client';
import { type KubeObject, StatusError } from '@gantry/objects';
import { createEntry, type Entry, objectKey, SharedResponse, withVersion } from '../../cache/index.ts';
import type { RequestContext, WriterFence } from '../contract/registry.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { GuardedWrite, ObjectStore, Unchanged, WriteOutcome } from '../../storage/object-store.ts';
import { MAX_TRIES, retry } from './attempts.ts';
import { fencedError, isLeaseFence } from './fences.ts';
import type { LeaseTerms } from './lease-terms.ts';
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
  readonly fence: WriterFence | undefined;
}

type StoredWrite = GuardedWrite & Required<Pick<GuardedWrite, 'unchanged'>>;

/** Converts an object to its storage version. */
export async function storedForm({ storage }: ResourceDefinition, object: KubeObject): Promise<KubeObject> {
  if (storage === undefined) return object;
  return storage.remote === undefined ? storage.toStored(object) : storage.remote.toStored(object);
}

/** Sends planned writes to the store and converts their outcomes to API objects and errors. */
export class Committer {
  readonly #store: ObjectStore;
  readonly #reader: Reader;
  readonly #terms: LeaseTerms;
  readonly #written: WrittenRevision;

  constructor(store: ObjectStore, reader: Reader, terms: LeaseTerms, written: WrittenRevision) {
    this.#store = store;
    this.#reader = reader;
    this.#terms = terms;
    this.#written = written;
  }

  /** Refuses a write whose term by a Lease has ended, before its other steps, and in a dry run. Only the commit is certain. */
  async checkFence({
    context,
    definition,
    name,
    fence,
  }: Omit<PlannedWrite, 'namespace' | 'expected' | 'object'>): Promise<void> {
    if (!isLeaseFence(fence)) return;
    if ((await this.#terms.cached(fence, context.signal)) !== undefined) return;
    throw fencedError(definition, name, fence);
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
    const guarded = {
      key: objectKey(definition, namespace, name),
      expected: write.expected,
      value: stored === undefined ? null : encodeObject(stored),
      unchanged,
    };
    const user = context.user.name;
    const outcome = isLeaseFence(fence)
      ? await this.#storeInTerm({ ...guarded, writer: { name: user } }, fence, context.signal)
      : await fromStore(this.#store.write({ ...guarded, writer: { name: user, fence } }, context.signal));
    if (outcome === undefined) throw StatusError.conflict(groupResource(definition), name);
    return outcome.kind === 'stale' ? outcome : this.#translate(outcome, write, stored, last);
  }

  /**
   * Stores a write if the Lease still has the version in which the term was found. A renewal makes another version, after which the write is
   * tried again. Undefined if there is one each time.
   */
  #storeInTerm(write: StoredWrite, term: LeaseFence, signal: AbortSignal): Promise<WriteOutcome | undefined> {
    return retry(MAX_TRIES, async (tries) => {
      const lease = await (tries === 1 ? this.#terms.cached(term, signal) : this.#terms.stored(term, signal));
      if (lease === undefined) return { kind: 'fenced' };
      // The first condition that fails is reported: the end of a term is final, and other conditions are tried again.
      const outcome = await fromStore(this.#store.write({ ...write, unchanged: [lease, ...write.unchanged] }, signal));
      return outcome.kind === 'stale' && outcome.key === lease.key ? undefined : outcome;
    });
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

import { type JsonObject, type KubeObject, type ResourceDefinition, StatusError } from '@gantry/api';
import type { Allocators } from '../allocators/allocators.ts';
import { type Entry, objectKey, SharedAnswer } from '../cache/index.ts';
import type {
  Answer,
  DeleteOptions,
  ListAnswer,
  ListRequest,
  RequestContext,
  Target,
  WriteOptions,
} from '../driver.ts';
import type { Fence } from '../storage/object-store.ts';
import type { AdmissionChain } from './admission-chain.ts';
import type { Committer } from './committer.ts';
import { type DeletionPlan, planDeletion } from './deletion.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fenceOf } from './fences.ts';
import { encodeProtobuf } from './machinery.ts';
import { checkDeletePreconditions } from './preconditions.ts';
import type { Reader } from './reader.ts';
import { groupResource } from './target.ts';

const MAX_TRIES = 100;
/** Deletions of a collection under way at once. */
const PARALLEL = 16;

export interface Deleted {
  readonly answer: Answer;
  readonly gone: boolean;
}

/** The options as webhooks and expressions see them. */
function deleteOptions(options: DeleteOptions, write: WriteOptions): JsonObject {
  const { gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = options;
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions: { ...preconditions } }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(write.dryRun ? { dryRun: ['All'] } : {}),
  };
}

/** Refusals may come from an old state: they count only when the store's own state gives them again. */
function keepUnlessDecided(error: unknown): undefined {
  if (error instanceof StatusError && error.code < 500) return undefined;
  throw error;
}

/** Deletes objects, or marks them when finalizers or a grace period keep them. */
export class DeleteWriter {
  readonly #deps: DriverDependencies;
  readonly #admission: AdmissionChain;
  readonly #allocators: Allocators;
  readonly #committer: Committer;
  readonly #reader: Reader;

  constructor(
    deps: DriverDependencies,
    parts: { admission: AdmissionChain; allocators: Allocators; committer: Committer; reader: Reader },
  ) {
    this.#deps = deps;
    this.#admission = parts.admission;
    this.#allocators = parts.allocators;
    this.#committer = parts.committer;
    this.#reader = parts.reader;
  }

  async delete(context: RequestContext, target: Target, options: DeleteOptions, write: WriteOptions): Promise<Deleted> {
    const { cache, authorizer } = this.#deps;
    const { definition, namespace, name } = target;
    const key = objectKey(definition, namespace, name);
    const attempt = (current: Entry | undefined) => {
      const stored = current?.answer.object as unknown as JsonObject | undefined;
      authorizer.authorize(context.user, 'delete', target, stored);
      return this.#deleteFrom(context, target, current, options, write);
    };
    const cached = await this.#shown(definition, cache.ready ? cache.resource(definition).get(key) : undefined);
    if (cached !== undefined) {
      // The guard makes a deletion of what the cache holds safe; anything else must be decided by what is stored now.
      const deleted = await attempt(cached).catch((error: unknown) => keepUnlessDecided(error));
      if (deleted !== undefined && (deleted.gone || deleted.answer !== cached.answer)) return deleted;
    }
    return attempt(await this.#shown(definition, await this.#reader.fromStore(key, context.signal)));
  }

  /** An entry as this version shows it. */
  async #shown(definition: ResourceDefinition, stored: Entry | undefined): Promise<Entry | undefined> {
    return stored === undefined ? undefined : this.#reader.shown(definition, stored);
  }

  /** The same for somebody whose right has been found out already: whoever may evict a pod need not be allowed to delete it. */
  async deleteAllowed(
    context: RequestContext,
    target: Target,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<Deleted> {
    const { definition, namespace, name } = target;
    const stored = await this.#reader.fromStore(objectKey(definition, namespace, name), context.signal);
    return this.#deleteFrom(context, target, stored, options, write);
  }

  async deleteCollection(
    context: RequestContext,
    definition: ResourceDefinition,
    list: ListRequest,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<ListAnswer> {
    const collection: Target = { definition, namespace: list.namespace, name: '', subresource: '' };
    this.#deps.authorizer.authorize(context.user, 'deletecollection', collection, undefined, list.fieldSelector);
    const listed = await this.#reader.select(context, definition, list);
    const { items } = listed;
    for (let at = 0; at < items.length; at += PARALLEL) {
      const group = items.slice(at, at + PARALLEL);
      await Promise.all(group.map((item) => this.#deleteListed(context, definition, item, options, write)));
    }
    return listed;
  }

  /** One object of a collection; it may have gone meanwhile. */
  async #deleteListed(
    context: RequestContext,
    definition: ResourceDefinition,
    item: Answer,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<void> {
    const { namespace = '', name = '', uid = '', resourceVersion = '' } = item.object.metadata;
    const target: Target = { definition, namespace, name, subresource: '' };
    const entry: Entry = {
      key: objectKey(definition, namespace, name),
      resourceVersion: Number(resourceVersion),
      answer: item,
    };
    const own: DeleteOptions = { ...options, preconditions: { uid, ...options.preconditions } };
    try {
      await this.#deleteFrom(context, target, entry, own, write);
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
    }
  }

  async #deleteFrom(
    context: RequestContext,
    target: Target,
    first: Entry | undefined,
    options: DeleteOptions,
    write: WriteOptions,
  ): Promise<Deleted> {
    const { definition, name } = target;
    const fence = fenceOf(context, definition, name, 'delete');
    let current = first;
    for (let tries = 1; ; tries++) {
      if (current === undefined) throw StatusError.notFound(groupResource(definition), name);
      const { object } = current.answer;
      checkDeletePreconditions(object, definition, options.preconditions);
      const request = this.#admission.request({
        context,
        target,
        operation: 'delete',
        object,
        old: object,
        write,
        options: deleteOptions(options, write),
      });
      const lookups = this.#admission.lookups(context.signal);
      await this.#admission.mutate(request, lookups);
      await this.#admission.validate(request, lookups);
      const plan = planDeletion(object, definition, options, this.#deps.clock.now());
      const done = await this.#carryOut(context, target, current, plan, write, fence);
      if ('gone' in done) return done;
      if (tries === MAX_TRIES) throw StatusError.conflict(groupResource(definition), name);
      current = done.current;
    }
  }

  async #carryOut(
    context: RequestContext,
    target: Target,
    current: Entry,
    plan: DeletionPlan,
    write: WriteOptions,
    fence: Fence | undefined,
  ): Promise<Deleted | { readonly current: Entry | undefined }> {
    switch (plan.kind) {
      case 'pending':
        return { answer: current.answer, gone: false };
      case 'remove':
        if (write.dryRun) return { answer: current.answer, gone: true };
        return this.#store(context, target, current, undefined, fence);
      case 'mark': {
        const gone = plan.then === 'remove';
        if (write.dryRun) return { answer: new SharedAnswer(plan.object, encodeProtobuf), gone };
        const marked = await this.#store(context, target, current, plan.object, fence);
        if (!gone || !('gone' in marked)) return marked;
        const version = Number(marked.answer.object.metadata.resourceVersion);
        const entry: Entry = { key: current.key, resourceVersion: version, answer: marked.answer };
        const removed = await this.#store(context, target, entry, undefined, fence);
        // An agent that sees the mark may have removed the object before us: gone all the same.
        const replaced = 'gone' in removed ? undefined : removed.current?.answer.object.metadata.uid;
        const isOurs = replaced === marked.answer.object.metadata.uid;
        return 'gone' in removed || isOurs ? removed : { answer: marked.answer, gone: true };
      }
    }
  }

  async #store(
    context: RequestContext,
    target: Target,
    current: Entry,
    object: KubeObject | undefined,
    fence: Fence | undefined,
  ): Promise<Deleted | { readonly current: Entry | undefined }> {
    const { definition, namespace, name } = target;
    const last = current.answer.object;
    const outcome = await this.#committer.commit(
      { context, definition, namespace, name, expected: current.resourceVersion, object, mustExist: [], fence },
      last,
    );
    if (outcome.kind === 'conflict') return { current: await this.#shown(definition, outcome.current) };
    if (object === undefined) await this.#allocators.release(definition, last);
    return { answer: outcome.answer, gone: object === undefined };
  }
}

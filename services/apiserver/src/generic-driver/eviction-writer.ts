import {
  type Eviction,
  findResource,
  type KubeObject,
  type Pod,
  type PodDisruptionBudget,
  type ResourceDefinition,
  StatusError,
} from '@gantry/api';
import { must } from '@gantry/base';
import { type Entry, objectKey } from '../cache/index.ts';
import { EVERYTHING, type DeleteOptions, type RequestContext, type Target, type WriteOptions } from '../driver.ts';
import type { Committer } from './committer.ts';
import type { DeleteWriter } from './delete-writer.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fenceOf } from './fences.ts';
import { settled } from './machinery.ts';
import { checkDeletePreconditions } from './preconditions.ts';
import type { Reader } from './reader.ts';
import {
  budgetsOf,
  evictionDeleteOptions,
  isUncounted,
  needsNoBudget,
  stillProcessed,
  takeDisruption,
  withDisruptionTarget,
} from './subresources/eviction.ts';
import { groupResource } from './target.ts';

/** Conflicts after which an eviction gives up; a guard fails only when another write has succeeded. */
const MAX_TRIES = 100;
const BUDGETS = { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets' };

/** One eviction that is allowed by rights and not yet by budgets. */
interface Asked {
  readonly context: RequestContext;
  readonly target: Target;
  readonly options: DeleteOptions;
  readonly write: WriteOptions;
}

/** Deletes pods as far as disruption budgets allow. The right to evict is enough: no right to delete is asked for. */
export class EvictionWriter {
  readonly #deps: DriverDependencies;
  readonly #committer: Committer;
  readonly #reader: Reader;
  readonly #deletes: DeleteWriter;

  constructor(deps: DriverDependencies, parts: { committer: Committer; reader: Reader; deletes: DeleteWriter }) {
    this.#deps = deps;
    this.#committer = parts.committer;
    this.#reader = parts.reader;
    this.#deletes = parts.deletes;
  }

  /** Evicts the pod of `target`; the request has been authorised. */
  async evict(context: RequestContext, target: Target, eviction: Eviction, write: WriteOptions): Promise<void> {
    if ((eviction.metadata?.name ?? '') !== target.name) {
      throw StatusError.badRequest('name in URL does not match name in Eviction object');
    }
    const { options, dryRun } = evictionDeleteOptions(eviction, write.dryRun);
    const asked = { context, target, options, write: { ...write, dryRun } };
    for (let tries = 1; ; tries++) {
      const entry = await this.#read(target.definition, target.namespace, target.name, context);
      const pod = entry.answer.object as Pod;
      if (!needsNoBudget(pod)) return this.#evictCounted(asked, pod);
      // A pod that has not begun may be about to: it goes only as it was seen.
      const isOpen = pod.metadata.deletionTimestamp === undefined && pod.status?.phase === 'Pending';
      try {
        return await this.#delete(asked, isOpen ? pod : undefined);
      } catch (error) {
        const isRaced = error instanceof StatusError && error.reason === 'Conflict';
        const isFixed = options.preconditions.resourceVersion !== undefined;
        if (!isRaced || isFixed || tries === MAX_TRIES) throw error;
      }
    }
  }

  async #evictCounted(asked: Asked, pod: Pod): Promise<void> {
    const { context, target } = asked;
    const definition = must(findResource(BUDGETS), 'the definition of budgets');
    const { items } = await this.#reader.select(context, definition, { ...EVERYTHING, namespace: target.namespace });
    const budgets = budgetsOf(
      pod,
      items.map(({ object }) => object as PodDisruptionBudget),
    );
    const [budget] = budgets;
    if (budget === undefined) return this.#delete(asked, undefined);
    if (budgets.length > 1) {
      const why = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
      throw new StatusError('Conflict', why);
    }
    const name = budget.metadata.name ?? '';
    if (!isUncounted(pod, budget)) {
      await this.#take(asked, definition, name);
      return this.#delete(asked, undefined);
    }
    try {
      return await this.#delete(asked, pod);
    } catch (error) {
      const isRaced = error instanceof StatusError && error.reason === 'Conflict';
      if (isRaced && asked.options.preconditions.resourceVersion === undefined) throw stillProcessed(name);
      throw error;
    }
  }

  /** Takes one disruption from the budget, in one guarded write. */
  async #take({ context, target, write }: Asked, definition: ResourceDefinition, name: string): Promise<void> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const entry = await this.#read(definition, target.namespace, name, context);
      const budget = takeDisruption(entry.answer.object, target.name, this.#deps.clock.now());
      if (write.dryRun || (await this.#store(context, definition, entry, budget)) !== undefined) return;
    }
    throw StatusError.timeout(`couldn't update PodDisruptionBudget ${JSON.stringify(name)} due to conflicts`);
  }

  /** Marks the pod as disrupted and deletes it; `seen` is the state in which alone it may go. */
  async #delete(asked: Asked, seen: Pod | undefined): Promise<void> {
    const { context, target, write } = asked;
    const pinned = asked.options.preconditions.resourceVersion ?? seen?.metadata.resourceVersion;
    const preconditions = {
      ...asked.options.preconditions,
      ...(pinned === undefined ? {} : { resourceVersion: pinned }),
    };
    let options: DeleteOptions = { ...asked.options, preconditions };
    if (!write.dryRun) {
      const version = await this.#mark(asked, options);
      // The mark is ours: what was pinned is now the version that it made.
      if (pinned !== undefined) options = { ...options, preconditions: { ...preconditions, resourceVersion: version } };
    }
    await this.#deletes.deleteAllowed(context, { ...target, subresource: '' }, options, write);
  }

  async #mark({ context, target }: Asked, { preconditions }: DeleteOptions): Promise<string> {
    const { definition } = target;
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const entry = await this.#read(definition, target.namespace, target.name, context);
      checkDeletePreconditions(entry.answer.object, definition, preconditions);
      const marked = withDisruptionTarget(entry.answer.object, this.#deps.clock.now());
      const version = await this.#store(context, definition, entry, marked);
      if (version !== undefined) return version;
    }
    throw StatusError.conflict(groupResource(definition), target.name);
  }

  async #read(
    definition: ResourceDefinition,
    namespace: string,
    name: string,
    { signal }: RequestContext,
  ): Promise<Entry> {
    const entry = await this.#reader.fromStore(objectKey(definition, namespace, name), signal);
    if (entry === undefined) throw StatusError.notFound(groupResource(definition), name);
    return entry;
  }

  /** The version of the write, or undefined when the object has changed since it was read. */
  async #store(
    context: RequestContext,
    definition: ResourceDefinition,
    read: Entry,
    object: KubeObject,
  ): Promise<string | undefined> {
    const { namespace = '', name = '' } = object.metadata;
    const outcome = await this.#committer.commit(
      {
        context,
        definition,
        namespace,
        name,
        expected: read.resourceVersion,
        object: settled(definition, object),
        mustExist: [],
        fence: fenceOf(context, definition, name, 'update'),
      },
      object,
    );
    return outcome.kind === 'committed' ? outcome.answer.object.metadata.resourceVersion : undefined;
  }
}

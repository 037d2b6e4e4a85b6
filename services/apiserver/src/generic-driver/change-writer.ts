import {
  type JsonObject,
  type KubeObject,
  type ResourceDefinition,
  StatusError,
  type SubresourceDefinition,
} from '@gantry/api';
import { type Allocators, noAllocation } from '../allocators/allocators.ts';
import { type Entry, objectKey, revisionOf, SharedAnswer } from '../cache/index.ts';
import type { Answer, RequestContext, Target, WriteOptions } from '../driver.ts';
import type { AdmissionRequest } from '../admission/index.ts';
import type { AdmissionChain } from './admission-chain.ts';
import { type Committed, type Committer, storedForm } from './committer.ts';
import { endsDeletion } from './deletion.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fenceOf } from './fences.ts';
import { encodeProtobuf, recordManager, requireValidChange, settled } from './machinery.ts';
import { carryMetadata, checkNamespace, copyOf, isUnchanged, raiseGeneration } from './metadata.ts';
import type { Reader } from './reader.ts';
import { groupResource } from './target.ts';

/** Conflicts after which a change gives up; a guard fails only when another write has succeeded. */
const MAX_TRIES = 100;

/** How long, and how many revisions, a cache may be behind its client. */
const CATCH_UP_MS = 100;
const MAX_AHEAD = 10_000;

/** A change of one object. */
export interface Change {
  readonly context: RequestContext;
  readonly target: Target;
  readonly verb: 'update' | 'patch' | 'create';
  readonly options: WriteOptions;
  /** The subresource through which the change comes, when it is one that keeps the rest as it is. */
  readonly through: SubresourceDefinition | undefined;
  /** The part of the API through which fields are recorded to be managed; undefined when nothing is recorded. */
  readonly managedSubresource: string | undefined;
  /** For a subresource with a kind of its own: what admission sees of the object, and how a change of that is put back. */
  readonly seenAs?: {
    readonly kind: AdmissionRequest['kind'];
    readonly of: (object: KubeObject) => KubeObject;
    readonly put: (object: KubeObject, view: KubeObject) => void;
  };
  /** 'done' when what was posted has been admitted as the object that it is (a Binding). */
  readonly admission?: 'done';
  /** The version that the client has seen, as it sent it: the cache is given a moment to see it too. */
  readonly seen?: string | undefined;
  /** The new object made from the stored one, which it must not touch. Pure: called again on fresh state. */
  readonly mutate: (current: KubeObject) => KubeObject;
}

/** Whether the form in which `object` is stored is what is stored: otherwise even an update that changes nothing is written. */
async function isStoredAlike(definition: ResourceDefinition, object: KubeObject, current: Entry): Promise<boolean> {
  if (definition.storage === undefined) return true;
  return isUnchanged(await storedForm(definition, object), current.answer.object);
}

/** Changes stored objects: reads, applies a pure change, writes under guard, and again on fresh state after a conflict. */
export class ChangeWriter {
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

  /** The changed object; undefined when there is none to change. */
  async change(change: Change): Promise<Answer | undefined> {
    const { context, target } = change;
    const { definition, namespace, name } = target;
    const key = objectKey(definition, namespace, name);
    await this.#catchUp(change);
    let current = this.cached(definition, key);
    let origin: 'cache' | 'store' = 'cache';
    for (let tries = 1; ; tries++) {
      if (current === undefined && origin === 'cache') {
        current = await this.#reader.fromStore(key, context.signal);
        origin = 'store';
      }
      const outcome = await this.#try(change, current).catch((error: unknown) => ({ kind: 'failed', error }) as const);
      if (outcome.kind === 'committed') return outcome.answer;
      if (outcome.kind === 'conflict') {
        if (tries === MAX_TRIES) throw StatusError.conflict(groupResource(definition), name);
        current = outcome.current;
        origin = 'store';
        continue;
      }
      if (origin === 'cache' && (outcome.kind !== 'failed' || outcome.error instanceof StatusError)) {
        // What was decided from the cache may be decided from the past: it counts only when the store agrees.
        const fresh = await this.#reader.fromStore(key, context.signal);
        origin = 'store';
        if (fresh?.resourceVersion !== current?.resourceVersion) {
          current = fresh;
          continue;
        }
      }
      if (outcome.kind === 'failed') throw outcome.error;
      return outcome.kind === 'absent' ? undefined : outcome.answer;
    }
  }

  /** Waits for the cache to see what the client has seen: asking the store instead, and doing all again, costs far more. */
  async #catchUp({ seen = '', context }: Change): Promise<void> {
    const { cache } = this.#deps;
    const ahead = revisionOf(Number(seen)) - cache.revision;
    // A version that is far ahead was never given.
    if (cache.ready && ahead > 0 && ahead < MAX_AHEAD)
      await cache.reach(cache.revision + ahead, CATCH_UP_MS, context.signal);
  }

  /** The entry of the cache, however old. */
  cached(definition: ResourceDefinition, key: string): Entry | undefined {
    const { cache } = this.#deps;
    return cache.ready ? cache.resource(definition).get(key) : undefined;
  }

  async #try(
    change: Change,
    current: Entry | undefined,
  ): Promise<Committed | { readonly kind: 'unchanged'; readonly answer: Answer } | { readonly kind: 'absent' }> {
    const { context, target, verb, options } = change;
    const { definition, namespace, name } = target;
    const shown = current === undefined ? undefined : await this.#reader.shown(definition, current);
    const stored = shown?.answer.object;
    this.#deps.authorizer.authorize(context.user, verb, target, stored as unknown as JsonObject | undefined);
    const fence = fenceOf(context, definition, name, 'update');
    if (current === undefined || shown === undefined || stored === undefined) return { kind: 'absent' };
    const object = await this.#plan(change, stored);
    const allocation =
      change.through === undefined
        ? await this.#allocators.begin(definition, object, stored, { dryRun: options.dryRun, signal: context.signal })
        : noAllocation;
    let landed = false;
    try {
      if (isUnchanged(object, stored) && (await isStoredAlike(definition, object, current))) {
        return { kind: 'unchanged', answer: shown.answer };
      }
      if (options.dryRun) return { kind: 'committed', answer: new SharedAnswer(object, encodeProtobuf) };
      const ends = endsDeletion(object, stored, definition);
      const outcome = await this.#committer.commit(
        {
          context,
          definition,
          namespace,
          name,
          expected: current.resourceVersion,
          object: ends ? undefined : object,
          mustExist: allocation.mustExist,
          fence,
        },
        object,
      );
      landed = outcome.kind === 'committed';
      if (landed) await allocation.commit();
      if (landed && ends) await this.#allocators.release(definition, object);
      return outcome;
    } catch (error) {
      // Claims stay while the outcome is unknown: the repair at start gives them back when no object holds them.
      if (error instanceof StatusError && error.reason === 'Timeout') landed = true;
      throw error;
    } finally {
      if (!landed) await allocation.rollback();
    }
  }

  /** Everything between decoding and storing, in the fixed order. */
  async #plan(change: Change, stored: KubeObject): Promise<KubeObject> {
    const { context, target, options, through } = change;
    const { definition } = target;
    const now = this.#deps.clock.now();
    const object = change.mutate(stored);
    carryMetadata(object, stored);
    if (change.managedSubresource !== undefined) {
      const by = { definition, manager: options.fieldManager, subresource: change.managedSubresource, now };
      recordManager(object, stored, by);
    }
    const lookups = this.#admission.lookups(context.signal);
    const request = this.#admissionRequest(change, object, stored);
    if (request !== undefined) await this.#admission.mutate(request, lookups);
    if (request !== undefined) change.seenAs?.put(object, request.object);
    // What is the server's stays the server's, whatever was made of it.
    checkNamespace(target, object.metadata);
    carryMetadata(object, stored);
    const { namespace } = target;
    const { user } = context;
    this.#deps.guard?.check({ user, definition, namespace, subresource: through?.name ?? '', object, old: stored });
    const strategyContext = { now, user: context.user, warn: context.warn };
    if (through === undefined) {
      definition.strategy.prepareForUpdate?.(object, copyOf(stored), strategyContext);
    } else through.prepareForUpdate?.(object, copyOf(stored), strategyContext);
    // Being bound to a node is no new wish of whoever made the pod.
    if (through?.name !== 'binding') {
      raiseGeneration(object, stored, definition, through === undefined ? 'main' : 'subresource');
    }
    requireValidChange(definition, through, object, stored);
    const warnings =
      through === undefined ? definition.strategy.warnings?.(object, stored) : through.warnings?.(object);
    for (const warning of warnings ?? []) context.warn(warning);
    if (request !== undefined) await this.#admission.validate(request, lookups);
    return settled(definition, object);
  }

  /** What the checks judge: the object, or what a subresource shows of it. */
  #admissionRequest(change: Change, object: KubeObject, stored: KubeObject): AdmissionRequest | undefined {
    const { context, target, options, through, seenAs } = change;
    if (change.admission === 'done') return undefined;
    return this.#admission.request({
      context,
      target: { ...target, subresource: through?.name ?? '' },
      operation: 'update',
      ...(seenAs === undefined ? {} : { kind: seenAs.kind }),
      object: seenAs === undefined ? object : seenAs.of(object),
      old: seenAs === undefined ? stored : seenAs.of(stored),
      write: options,
    });
  }
}

import {
  apiVersionOf,
  cloneWithEmpty,
  type JsonObject,
  type KubeObject,
  type ResourceDefinition,
  StatusError,
  validateNew,
} from '@gantry/api';
import { randomSuffix } from '@gantry/base';
import { requireActive } from '../admission/index.ts';
import { type Allocation, type Allocators, noAllocation } from '../allocators/allocators.ts';
import { isFixedIdentity } from '../auth/fixed-rights.ts';
import { objectKey, SharedAnswer } from '../cache/index.ts';
import type { Answer, Body, RequestContext, Target, WriteOptions } from '../driver.ts';
import type { Fence } from '../storage/object-store.ts';
import type { AdmissionChain, Lookups } from './admission-chain.ts';
import type { Committed, Committer } from './committer.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fenceOf } from './fences.ts';
import { decodeBody, encodeProtobuf, recordManager, requireValidNew, withDefaults } from './machinery.ts';
import { checkNamespace, fillNew } from './metadata.ts';
import { groupResource } from './target.ts';

/** Longest generated name without its suffix. */
const MAX_PREFIX = 58;
const GENERATE_TRIES = 8;
const NAMESPACES = { group: '', resource: 'namespaces' };

/** How often a namespace may change under a create before it gives up. */
const STALE_TRIES = 10;

/** A new object that only needs storing. */
interface PreparedCreate {
  readonly context: RequestContext;
  readonly target: Target;
  readonly object: KubeObject;
  readonly fence: Fence | undefined;
  /** Claims that must be in place. */
  readonly mustExist: readonly string[];
}

/** Creates objects. */
export class CreateWriter {
  readonly #deps: DriverDependencies;
  readonly #admission: AdmissionChain;
  readonly #allocators: Allocators;
  readonly #committer: Committer;

  constructor(
    deps: DriverDependencies,
    parts: { admission: AdmissionChain; allocators: Allocators; committer: Committer },
  ) {
    this.#deps = deps;
    this.#admission = parts.admission;
    this.#allocators = parts.allocators;
    this.#committer = parts.committer;
  }

  async create(context: RequestContext, target: Target, body: Body, options: WriteOptions): Promise<Answer> {
    const { definition } = target;
    const fence = fenceOf(context, definition, target.name, 'create');
    const { authorizer } = this.#deps;
    if (!isFixedIdentity(context.user)) authorizer.authorize(context.user, 'create', target, undefined);
    const object = decodeBody(body, definition, options, context);
    // Whether an agent may make an object can depend on its name (its own Node).
    authorizer.authorize(context.user, 'create', target, object as unknown as JsonObject);
    return this.createDecoded(context, target, object, options, fence);
  }

  /** Creates an object that is decoded and allowed already: what a PUT or an apply of a missing object does too. */
  async createDecoded(
    context: RequestContext,
    target: Target,
    object: KubeObject,
    options: WriteOptions,
    fence: Fence | undefined,
    owners: 'recorded' | 'unrecorded' = 'unrecorded',
  ): Promise<Answer> {
    const { definition } = target;
    checkNamespace(target, object.metadata);
    const { stored } = definition;
    if (stored && (object.metadata.resourceVersion ?? '') !== '' && !options.dryRun) {
      throw StatusError.badRequest('resourceVersion should not be set on objects to be created');
    }
    if (!stored) return this.#answerOnly(context, target, object, options);
    const generated = (object.metadata.name ?? '') === '' && (object.metadata.generateName ?? '') !== '';
    for (let tries = 1; ; tries++) {
      const attempt = generated ? cloneWithEmpty(object) : object;
      const answer = await this.#attempt(context, target, attempt, options, fence, owners);
      if (answer !== undefined) return answer;
      const name = attempt.metadata.name ?? '';
      if (!generated || tries === GENERATE_TRIES) throw this.#taken(target, name);
    }
  }

  /** What has the name may be on its way out. */
  #taken({ definition, namespace }: Target, name: string): StatusError {
    const error = StatusError.alreadyExists(groupResource(definition), name);
    const present = this.#deps.cache.resource(definition).get(objectKey(definition, namespace, name));
    if (present?.answer.object.metadata.deletionTimestamp === undefined) return error;
    return new StatusError('AlreadyExists', `object is being deleted: ${error.message}`, {
      ...(error.details === undefined ? {} : { details: error.details }),
    });
  }

  /** Undefined when the name is taken. */
  async #attempt(
    context: RequestContext,
    target: Target,
    object: KubeObject,
    options: WriteOptions,
    fence: Fence | undefined,
    owners: 'recorded' | 'unrecorded',
  ): Promise<Answer | undefined> {
    const { definition, namespace } = target;
    const lookups = this.#admission.lookups(context.signal);
    await this.#prepare(context, target, object, { ...options, owners }, lookups);
    const { name = '' } = object.metadata;
    if (options.dryRun) {
      const taken = await this.#deps.store.get(objectKey(definition, namespace, name), context.signal);
      if (taken !== null) return undefined;
    }
    const allocation = await this.#allocate(context, definition, object, options);
    if (options.dryRun) return new SharedAnswer(object, encodeProtobuf);
    let landed = false;
    try {
      const outcome = await this.#commit({ context, target, object, fence, mustExist: allocation.mustExist }, lookups);
      if (outcome.kind === 'conflict') return undefined;
      landed = true;
      return outcome.answer;
    } catch (error) {
      // Claims stay while the outcome is unknown: the repair at start gives them back when no object holds them.
      if (error instanceof StatusError && error.reason === 'Timeout') landed = true;
      throw error;
    } finally {
      if (!landed) await allocation.rollback();
    }
  }

  /** Stores the object under the guard that its namespace is as the checks saw it: not being deleted. */
  async #commit(create: PreparedCreate, lookups: Lookups): Promise<Committed> {
    const { context, target, object, fence, mustExist } = create;
    const { definition, namespace } = target;
    const { name = '' } = object.metadata;
    const namespaceKey = definition.namespaced ? objectKey(NAMESPACES, '', namespace) : undefined;
    for (let tries = 1; ; tries++) {
      const seen = namespaceKey === undefined ? undefined : lookups.seen(namespaceKey);
      const unchanged = seen === undefined ? [] : [{ key: seen.key, resourceVersion: seen.resourceVersion }];
      const write = { context, definition, namespace, name, expected: 'absent', object, mustExist, fence } as const;
      const outcome = await this.#committer.commitUnlessStale(write, unchanged, object);
      if (outcome.kind !== 'stale') return outcome;
      const fresh = await lookups.readAgain(outcome.key);
      requireActive(fresh?.answer.object, namespace, definition, name);
      if (tries === STALE_TRIES) throw StatusError.conflict(groupResource(definition), name);
    }
  }

  /** Everything between decoding and storing, in the fixed order. Changes `object`. */
  async #prepare(
    context: RequestContext,
    target: Target,
    object: KubeObject,
    options: WriteOptions & { readonly owners: 'recorded' | 'unrecorded' },
    lookups: Lookups,
  ): Promise<void> {
    const { definition, namespace } = target;
    const now = this.#deps.clock.now();
    const { strategy } = definition;
    const uid = this.#deps.newUid();
    fillNew(object, definition, now, uid);
    if (options.owners === 'unrecorded') {
      recordManager(object, undefined, { definition, manager: options.fieldManager, subresource: '', now });
    }
    const request = this.#admission.request({
      context,
      target: { definition, namespace, name: object.metadata.name ?? '', subresource: '' },
      operation: 'create',
      object,
      old: undefined,
      write: options,
    });
    await this.#admission.mutate(request, lookups);
    // What is the server's stays the server's, whatever was made of it.
    checkNamespace(target, object.metadata);
    fillNew(object, definition, now, uid);
    const { name = '', generateName = '' } = object.metadata;
    if (name === '' && generateName !== '') this.#generateName(object, definition);
    this.#deps.guard?.check(request);
    strategy.prepareForCreate?.(object, { now, user: context.user, warn: context.warn });
    withDefaults(definition, object);
    requireValidNew(definition, object);
    for (const warning of strategy.warnings?.(object) ?? []) context.warn(warning);
    await this.#admission.validate({ ...request, name: object.metadata.name ?? '' }, lookups);
  }

  #allocate(
    context: RequestContext,
    definition: ResourceDefinition,
    object: KubeObject,
    options: WriteOptions,
  ): Promise<Allocation> {
    if (!definition.stored) return Promise.resolve(noAllocation);
    const { dryRun } = options;
    return this.#allocators.begin(definition, object, undefined, { dryRun, signal: context.signal });
  }

  /** Kinds that are only posted and answered. */
  async #answerOnly(
    context: RequestContext,
    target: Target,
    object: KubeObject,
    options: WriteOptions,
  ): Promise<Answer> {
    const { definition } = target;
    const now = this.#deps.clock.now();
    recordManager(object, undefined, { definition, manager: options.fieldManager, subresource: '', now });
    const lookups = this.#admission.lookups(context.signal);
    const request = this.#admission.request({
      context,
      target,
      operation: 'create',
      object,
      old: undefined,
      write: options,
    });
    await this.#admission.mutate(request, lookups);
    definition.strategy.prepareForCreate?.(object, { now, user: context.user, warn: context.warn });
    const errors = validateNew(definition, object);
    // Kubernetes names no kind here.
    if (errors.length > 0) throw StatusError.invalid(definition.group, '', '', errors);
    await this.#admission.validate(request, lookups);
    await this.#deps.reviewer?.answer(definition, object, context);
    object.apiVersion = apiVersionOf(definition);
    object.kind = definition.kind;
    return new SharedAnswer(object, encodeProtobuf);
  }

  #generateName(object: KubeObject, definition: ResourceDefinition): void {
    const prefix = (object.metadata.generateName ?? '').slice(0, MAX_PREFIX);
    object.metadata.name = `${prefix}${randomSuffix(this.#deps.random)}`;
    withDefaults(definition, object);
  }
}

import { randomSuffix } from '@gantry/base';
import { type KubeObject, NAMESPACES } from '@gantry/objects';
import { type AdmissionRequest, requireActive } from '../../admission/index.ts';
import type { Allocation } from '../../allocators/allocators.ts';
import { createEntry, objectKey } from '../../cache/index.ts';
import type { Lookups } from '../writing/admission-chain.ts';
import { type Outcome, retry } from '../writing/attempts.ts';
import { withDefaults } from '../objects/decode-body.ts';
import { recordManager } from '../objects/record-manager.ts';
import { checkNamespace, fillNew } from '../objects/metadata.ts';
import { namedVersion } from '../objects/preconditions.ts';
import { encodeProtobuf, responseOf } from '../objects/response-of.ts';
import { requireValidNew } from '../objects/validation.ts';
import type { Attempt, Draft, WriteParts } from '../writing/write.ts';
import { StatusError } from '@gantry/objects';
import { groupResource } from '../contract/target.ts';

/** Maximum length of a generated name without its suffix. */
const MAX_PREFIX = 58;
/** Maximum attempts of a create while its namespace changes. */
const STALE_TRIES = 10;

/** The object to create, and options. */
interface NewObjectOptions {
  readonly object: KubeObject;
  /** Whether the object already has its managed fields. */
  readonly managers: 'recorded' | 'unrecorded';
  /** Whether a resourceVersion in the object is an error. Only POST rejects it, after admission, as the store does in Kubernetes. */
  readonly version?: 'refused' | 'ignored';
}

/** The draft of a new object. */
export class NewObject implements Draft {
  readonly object: KubeObject;
  readonly #parts: WriteParts;
  readonly #attempt: Attempt;
  readonly #managers: NewObjectOptions['managers'];
  readonly #version: 'refused' | 'ignored';
  readonly #isGenerated: boolean;
  readonly #uid: string;

  constructor(parts: WriteParts, attempt: Attempt, { object, managers, version = 'ignored' }: NewObjectOptions) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#managers = managers;
    this.#version = version;
    this.object = object;
    this.#isGenerated = generatesName(object);
    this.#uid = parts.deps.newUid();
    fillNew(object, attempt.target.definition, attempt.now, this.#uid);
  }

  async record(): Promise<void> {
    const { target, options, now } = this.#attempt;
    if (this.#managers === 'recorded') return;
    const by = { definition: target.definition, manager: options.fieldManager, subresource: '', now };
    await recordManager(this.object, undefined, by);
  }

  admissionRequest(): AdmissionRequest {
    const { context, target, options } = this.#attempt;
    return this.#parts.admission.request({
      context,
      target: { ...target, name: this.object.metadata.name ?? '', subresource: '' },
      operation: 'create',
      object: this.object,
      old: undefined,
      write: options,
    });
  }

  restore(admitted: AdmissionRequest): AdmissionRequest {
    const { target, now } = this.#attempt;
    const { metadata } = this.object;
    checkNamespace(target, metadata);
    fillNew(this.object, target.definition, now, this.#uid);
    if ((metadata.name ?? '') === '' && generatesName(this.object)) this.#generateName();
    const { name = '' } = metadata;
    return admitted.name === name ? admitted : { ...admitted, name };
  }

  prepare(): void {
    const { context, target, now } = this.#attempt;
    const { definition } = target;
    definition.strategy.prepareForCreate?.(this.object, { now, user: context.user, warn: context.warn });
    withDefaults(definition, this.object);
  }

  async validate(): Promise<void> {
    const { context, target } = this.#attempt;
    const { turns } = this.#parts.deps;
    await requireValidNew((work) => turns.run(work, context.signal), target.definition, this.object);
    if (context.warnings === 'unread') return;
    for (const warning of target.definition.strategy.warnings?.(this.object) ?? []) context.warn(warning);
  }

  claim(): Promise<Allocation> {
    const { context, target, options } = this.#attempt;
    // Kubernetes ignores a resourceVersion that is not a number here.
    if (this.#version === 'refused' && !options.dryRun && /^\d+$/.test(namedVersion(this.object.metadata))) {
      // Kubernetes responds with 500 without a reason. Gantry responds with 400, since the request is wrong.
      throw StatusError.badRequest('resourceVersion should not be set on objects to be created');
    }
    const { definition } = target;
    const claimant = { definition, object: this.object, old: undefined, dryRun: options.dryRun };
    return this.#parts.allocators.claim(claimant, context.signal);
  }

  commit(claims: Allocation['claims'], lookups: Lookups): Promise<Outcome> {
    return this.#attempt.options.dryRun ? this.#dryRun() : this.#store(claims, lookups);
  }

  async #dryRun(): Promise<Outcome> {
    const { context, target } = this.#attempt;
    const { name = '' } = this.object.metadata;
    const key = objectKey(target.definition, target.namespace, name);
    const taken = await this.#parts.deps.store.get(key, context.signal);
    if (taken === null) return { kind: 'committed', response: responseOf(this.object), effect: 'created' };
    return { kind: 'taken', name, isGenerated: this.#isGenerated, current: createEntry(taken, encodeProtobuf) };
  }

  /** Stores the object if its claims are unchanged and its namespace is as the checks have seen it, which is not terminating. */
  async #store(claims: Allocation['claims'], lookups: Lookups): Promise<Outcome> {
    const { context, target, fence } = this.#attempt;
    const { definition, namespace } = target;
    const { object } = this;
    const { name = '' } = object.metadata;
    const namespaceKey = definition.namespaced ? objectKey(NAMESPACES, '', namespace) : undefined;
    const write = { context, definition, namespace, name, expected: 'absent', object, fence } as const;
    const outcome = await retry(STALE_TRIES, async () => {
      const seen = namespaceKey === undefined ? undefined : lookups.seen(namespaceKey);
      const space = seen === undefined ? [] : [{ key: seen.key, resourceVersion: seen.resourceVersion }];
      const committed = await this.#parts.committer.commitUnlessStale(write, [...claims, ...space], object);
      if (committed.kind !== 'stale' || committed.key !== namespaceKey) return committed;
      const fresh = await lookups.readAgain(committed.key);
      requireActive(fresh?.response.object, namespace, definition, name);
      return undefined;
    });
    if (outcome === undefined) throw StatusError.conflict(groupResource(definition), name);
    if (outcome.kind === 'stale') return { kind: 'claims-lost', key: outcome.key };
    if (outcome.kind === 'committed') return { ...outcome, effect: 'created' };
    return { kind: 'taken', name, isGenerated: this.#isGenerated, current: outcome.current };
  }

  #generateName(): void {
    const { metadata } = this.object;
    const prefix = (metadata.generateName ?? '').slice(0, MAX_PREFIX);
    metadata.name = `${prefix}${randomSuffix(this.#parts.deps.random)}`;
    withDefaults(this.#attempt.target.definition, this.object);
  }
}

/** Whether the name of a new object is generated. */
export function generatesName({ metadata }: KubeObject): boolean {
  return (metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '';
}

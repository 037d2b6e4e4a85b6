import type { JsonObject, KubeObject } from '@gantry/objects';
import type { AdmissionRequest } from '../../admission/index.ts';
import { type Allocation, noAllocation } from '../../allocators/allocators.ts';
import type { Entry } from '../../cache/index.ts';
import type { Outcome } from '../writing/attempts.ts';
import { type DeletionPlan, planDeletion } from '../objects/deletion.ts';
import { checkDeletePreconditions } from '../objects/preconditions.ts';
import type { DeleteOptions } from '../contract/registry.ts';
import { responseOf } from '../objects/response-of.ts';
import type { Attempt, Draft, StoredState, WriteParts } from '../writing/write.ts';

/** An object that is deleted, or marked when finalizers or a grace period keep it. */
export class DeletedObject implements Draft {
  readonly object: KubeObject;
  readonly #parts: WriteParts;
  readonly #attempt: Attempt<DeleteOptions>;
  readonly #stored: StoredState;

  constructor(parts: WriteParts, attempt: Attempt<DeleteOptions>, stored: StoredState) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#stored = stored;
    this.object = stored.object;
    checkDeletePreconditions(this.object, attempt.target.definition, attempt.sent.preconditions);
  }

  record(): void {
    // A deletion sets no fields of its own.
  }

  admissionRequest(): AdmissionRequest {
    const { context, target, options, sent } = this.#attempt;
    return this.#parts.admission.request({
      context,
      target,
      operation: 'delete',
      object: this.object,
      old: this.object,
      write: options,
      options: shownOptions(sent, options.dryRun),
    });
  }

  restore(admitted: AdmissionRequest): AdmissionRequest {
    return admitted;
  }

  prepare(): void {
    // What a deletion sets depends on its plan, which `commit` makes.
  }

  validate(): void {
    // The object stays as it is stored.
  }

  claim(): Promise<Allocation> {
    return Promise.resolve(noAllocation);
  }

  async commit(): Promise<Outcome> {
    const { target, options, sent, now } = this.#attempt;
    const plan = planDeletion(this.object, target.definition, sent, now);
    if (options.dryRun) return this.#dryRun(plan);
    switch (plan.kind) {
      case 'pending':
        return { kind: 'unchanged', response: this.#stored.shown.response };
      case 'remove':
        return this.#store(this.#stored.shown, undefined);
      case 'mark':
        return plan.then === 'keep' ? this.#store(this.#stored.shown, plan.object) : this.#markAndRemove(plan.object);
    }
  }

  #dryRun(plan: DeletionPlan): Outcome {
    const { response } = this.#stored.shown;
    switch (plan.kind) {
      case 'pending':
        return { kind: 'unchanged', response };
      case 'remove':
        return { kind: 'committed', response, effect: 'removed' };
      case 'mark': {
        const effect = plan.then === 'remove' ? 'removed' : 'updated';
        return { kind: 'committed', response: responseOf(plan.object), effect };
      }
    }
  }

  async #markAndRemove(object: KubeObject): Promise<Outcome> {
    const marked = await this.#store(this.#stored.shown, object);
    if (marked.kind !== 'committed') return marked;
    const resourceVersion = Number(marked.response.object.metadata.resourceVersion);
    const { key } = this.#stored.shown;
    const removed = await this.#store({ key, resourceVersion, response: marked.response }, undefined);
    if (removed.kind !== 'conflict') return removed;
    // An agent that sees the mark may remove the object before us: it is removed all the same.
    const isOurs = removed.current?.response.object.metadata.uid === marked.response.object.metadata.uid;
    return isOurs ? removed : { ...marked, effect: 'removed' };
  }

  async #store(current: Entry, object: KubeObject | undefined): Promise<Outcome> {
    const { context, target, fence } = this.#attempt;
    const { definition, namespace, name } = target;
    const expected = current.resourceVersion;
    const write = { context, definition, namespace, name, expected, object, fence };
    const outcome = await this.#parts.committer.commit(write, current.response.object);
    if (outcome.kind === 'conflict') return outcome;
    return { ...outcome, effect: object === undefined ? 'removed' : 'updated' };
  }
}

/** The options as webhooks and expressions see them. */
function shownOptions(options: DeleteOptions, dryRun: boolean): JsonObject {
  const { gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = options;
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions: { ...preconditions } }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  };
}

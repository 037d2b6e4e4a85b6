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

/** Maximum attempts to remove a marked object that others still write. */
const MAX_REMOVALS = 5;

/** The draft of a delete. It removes the object, or marks it if finalizers or a grace period keep it. */
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
    // A delete sets no fields that have managers.
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
    // The fields that a delete sets depend on its plan, which `commit` makes.
  }

  validate(): Promise<void> {
    // The object does not change, so there is nothing to validate.
    return Promise.resolve();
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
    const { key } = this.#stored.shown;
    let current: Entry = { key, resourceVersion: versionOf(marked.response), response: marked.response };
    for (let attempts = 1; ; attempts++) {
      const removed = await this.#store(current, undefined);
      if (removed.kind !== 'conflict') return removed;
      const found = removed.current;
      // An agent or a controller may see the mark and remove the object first. The effect is the same.
      if (found === undefined || found.response.object.metadata.uid !== object.metadata.uid)
        return { ...marked, effect: 'removed' };
      // Or it may write the status: remove the object with that status. A new attempt from the start would not know who has set the mark.
      const isKept = (found.response.object.metadata.finalizers ?? []).length > 0;
      if (isKept || attempts === MAX_REMOVALS) return removed;
      current = found;
    }
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

function versionOf({ object }: Entry['response']): number {
  return Number(object.metadata.resourceVersion);
}

/** DeleteOptions as webhooks and expressions see them. */
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

import type { SubresourceDefinition } from '@gantry/apimachinery';
import { type KubeObject } from '@gantry/objects';
import type { AdmissionRequest } from '../../admission/index.ts';
import { type Allocation, noAllocation } from '../../allocators/allocators.ts';
import { storedForm } from '../writing/committer.ts';
import type { Outcome } from '../writing/attempts.ts';
import { normalised } from '../objects/decode-body.ts';
import { endsDeletion } from '../objects/deletion.ts';
import { recordManager } from '../objects/record-manager.ts';
import { carryMetadata, checkNamespace, copyOf, isUnchanged, raiseGeneration } from '../objects/metadata.ts';
import { responseOf } from '../objects/response-of.ts';
import { requireValidChange } from '../objects/validation.ts';
import type { Attempt, Draft, StoredState, WriteParts } from '../writing/write.ts';

/** The object that admission checks instead of the stored kind: the kind of a subresource. */
export interface View {
  readonly operation: 'create' | 'update';
  readonly kind: AdmissionRequest['kind'];
  readonly of: (object: KubeObject) => KubeObject;
  readonly old: KubeObject | undefined;
  /** Writes the view back into the object. Admission may have changed the view. */
  readonly put: (object: KubeObject, view: KubeObject) => void;
}

export interface Change {
  readonly stored: StoredState;
  /** The new object, which is a copy of the stored one. */
  readonly object: KubeObject;
  /** Whether the object already has its managed fields. */
  readonly managers: 'recorded' | 'unrecorded';
  readonly view?: View;
  /** 'kept' for a binding of the scheduler, which changes the spec but not the generation. */
  readonly generation?: 'kept';
}

/** The draft of an update: of the whole object, or of the part that a subresource writes. */
export class ChangedObject implements Draft {
  readonly object: KubeObject;
  readonly #parts: WriteParts;
  readonly #attempt: Attempt;
  readonly #change: Change;
  readonly #subresource: SubresourceDefinition | undefined;

  constructor(parts: WriteParts, attempt: Attempt, change: Change) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#change = change;
    this.#subresource = attempt.subresource;
    this.object = change.object;
    carryMetadata(this.object, change.stored.object);
  }

  async record(): Promise<void> {
    const { target, options, now } = this.#attempt;
    if (this.#change.managers === 'recorded') return;
    const { definition, subresource } = target;
    await recordManager(this.object, this.#old, { definition, manager: options.fieldManager, subresource, now });
  }

  admissionRequest(): AdmissionRequest {
    const { context, target, options } = this.#attempt;
    const { view } = this.#change;
    return this.#parts.admission.request({
      context,
      target,
      operation: view?.operation ?? 'update',
      kind: view?.kind,
      object: view === undefined ? this.object : view.of(this.object),
      old: view === undefined ? this.#old : view.old,
      write: options,
    });
  }

  restore(admitted: AdmissionRequest): AdmissionRequest {
    this.#change.view?.put(this.object, admitted.object);
    checkNamespace(this.#attempt.target, this.object.metadata);
    carryMetadata(this.object, this.#old);
    return admitted;
  }

  prepare(): void {
    const { context, target, now } = this.#attempt;
    const { definition } = target;
    const strategy = this.#subresource ?? definition.strategy;
    strategy.prepareForUpdate?.(this.object, copyOf(this.#old), { now, user: context.user, warn: context.warn });
    if (this.#change.generation === 'kept') return;
    raiseGeneration(this.object, this.#old, definition, this.#subresource === undefined ? 'main' : 'subresource');
  }

  async validate(): Promise<void> {
    const { context, target } = this.#attempt;
    const { definition } = target;
    const { turns } = this.#parts.deps;
    await requireValidChange(
      (work) => turns.run(work, context.signal),
      { definition, subresource: this.#subresource },
      this.object,
      this.#old,
    );
    if (context.warnings === 'unread') return;
    const warnings =
      this.#subresource === undefined
        ? definition.strategy.warnings?.(this.object, this.#old)
        : this.#subresource.warnings?.(this.object);
    for (const warning of warnings ?? []) context.warn(warning);
  }

  claim(): Promise<Allocation> {
    const { context, target, options } = this.#attempt;
    const { definition } = target;
    normalised(definition, this.object);
    if (this.#subresource !== undefined) return Promise.resolve(noAllocation);
    const claimant = { definition, object: this.object, old: this.#old, dryRun: options.dryRun };
    return this.#parts.allocators.claim(claimant, context.signal);
  }

  async commit(claims: Allocation['claims']): Promise<Outcome> {
    const { context, target, options, fence } = this.#attempt;
    const { definition, namespace, name } = target;
    const { stored } = this.#change;
    if (isUnchanged(this.object, stored.object) && (await this.#isStoredAlike())) {
      return { kind: 'unchanged', response: stored.shown.response };
    }
    if (options.dryRun) return { kind: 'committed', response: responseOf(this.object), effect: 'updated' };
    const ends = endsDeletion(this.object, stored.object, definition);
    const expected = stored.entry.resourceVersion;
    const object = ends ? undefined : this.object;
    const write = { context, definition, namespace, name, expected, object, fence };
    const outcome = await this.#parts.committer.commitUnlessStale(write, claims, this.object);
    if (outcome.kind === 'stale') return { kind: 'claims-lost', key: outcome.key };
    return outcome.kind === 'committed' ? { ...outcome, effect: ends ? 'removed' : 'updated' } : outcome;
  }

  get #old(): KubeObject {
    return this.#change.stored.object;
  }

  /** Whether the stored object is already in the storage version. If not, even an update without changes is written. */
  async #isStoredAlike(): Promise<boolean> {
    const { definition } = this.#attempt.target;
    if (definition.storage === undefined) return true;
    return isUnchanged(await storedForm(definition, this.object), this.#change.stored.entry.response.object);
  }
}

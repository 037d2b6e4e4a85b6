import { type KubeObject, StatusError } from '@gantry/objects';
import { validateNewInTurns } from '@gantry/apimachinery';
import type { AdmissionRequest } from '../../admission/index.ts';
import { type Allocation, noAllocation } from '../../allocators/allocators.ts';
import type { Lookups } from '../writing/admission-chain.ts';
import type { Outcome } from '../writing/attempts.ts';
import { recordManager } from '../objects/record-manager.ts';
import { responseOf } from '../objects/response-of.ts';
import { errorsInTurns } from '../objects/validation.ts';
import type { Attempt, Draft, WriteParts } from '../writing/write.ts';

export interface Post {
  readonly object: KubeObject;
  /** The kind of the object of a subresource; undefined for the resource itself. */
  readonly kind?: AdmissionRequest['kind'];
  /** Executes the admitted request and returns the response. */
  readonly respond: (lookups: Lookups) => Promise<KubeObject>;
}

/** The draft of a posted object that is not stored: reviews, evictions, token requests. */
export class PostedObject implements Draft {
  readonly object: KubeObject;
  readonly #parts: WriteParts;
  readonly #attempt: Attempt;
  readonly #post: Post;

  constructor(parts: WriteParts, attempt: Attempt, post: Post) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#post = post;
    this.object = post.object;
  }

  async record(): Promise<void> {
    if (this.#post.kind !== undefined) return;
    const { target, options, now } = this.#attempt;
    const by = { definition: target.definition, manager: options.fieldManager, subresource: '', now };
    await recordManager(this.object, undefined, by);
  }

  admissionRequest(): AdmissionRequest {
    const { context, target, options } = this.#attempt;
    const { kind, object } = this.#post;
    return this.#parts.admission.request({
      context,
      target,
      operation: 'create',
      kind,
      object,
      old: undefined,
      write: options,
    });
  }

  restore(admitted: AdmissionRequest): AdmissionRequest {
    return admitted;
  }

  prepare(): void {
    if (this.#post.kind !== undefined) return;
    const { context, target, now } = this.#attempt;
    target.definition.strategy.prepareForCreate?.(this.object, { now, user: context.user, warn: context.warn });
  }

  async validate(): Promise<void> {
    if (this.#post.kind !== undefined) return;
    const { context, target } = this.#attempt;
    const { definition } = target;
    const { turns } = this.#parts.deps;
    const errors = await errorsInTurns(
      (work) => turns.run(work, context.signal),
      validateNewInTurns(definition, this.object),
    );
    // As in Kubernetes, the error has no kind.
    if (errors.length > 0) throw StatusError.invalid(definition.group, '', '', errors);
  }

  claim(): Promise<Allocation> {
    return Promise.resolve(noAllocation);
  }

  async commit(_claims: Allocation['claims'], lookups: Lookups): Promise<Outcome> {
    return { kind: 'committed', response: responseOf(await this.#post.respond(lookups)), effect: 'created' };
  }
}

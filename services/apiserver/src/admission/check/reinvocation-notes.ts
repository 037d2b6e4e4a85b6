import { type KubeObject, equalJson } from '@gantry/objects';
import type { AdmissionRequest } from './admission-check.ts';

/**
 * The state of a mutating check with several parts (webhooks, policies) between two invocations. It records which parts allow
 * reinvocation, and the object after the first invocation.
 */
export class ReinvocationNotes {
  /** Parts that were invoked and allow reinvocation when other parts change the object. */
  readonly #willing = new Set<string>();
  /** Parts that must be invoked again, since the object has changed after their invocation. */
  readonly #due = new Set<string>();
  #last: KubeObject | undefined;

  /** The notes of a check for a request. Called at the start of each invocation of the check. */
  static of({ reinvocation, object }: AdmissionRequest, check: string): ReinvocationNotes {
    const notes = reinvocation.note(check, () => new ReinvocationNotes());
    if (reinvocation.again && notes.#willing.size > 0 && !equalJson(notes.#last ?? null, object)) notes.#makeDue();
    return notes;
  }

  /** Whether a part is skipped. The second invocation skips all parts that are not due. */
  passes({ reinvocation }: AdmissionRequest, part: string): boolean {
    return reinvocation.again && !this.#due.has(part);
  }

  /** Records that a part has changed the object. All earlier parts that allow reinvocation become due. */
  changed({ reinvocation }: AdmissionRequest): void {
    this.#makeDue();
    reinvocation.needed = true;
  }

  /** Records that a part was invoked. */
  asked(part: string, reinvocationPolicy: string | undefined): void {
    if (reinvocationPolicy === 'IfNeeded') this.#willing.add(part);
  }

  /** Records the object at the end of an invocation of the check. */
  done(object: KubeObject): void {
    // Without reinvocation, changes need not be tracked.
    this.#last = this.#willing.size === 0 ? undefined : structuredClone(object);
  }

  #makeDue(): void {
    for (const part of this.#willing) this.#due.add(part);
    this.#willing.clear();
  }
}

import { type KubeObject, equalJson } from '@gantry/objects';
import type { AdmissionRequest } from './admission-check.ts';

/**
 * What a mutating check of many parts (webhooks, policies) remembers from the first time for the second: which parts want to be
 * asked again, and what the object was when it was done.
 */
export class ReinvocationNotes {
  /** Asked already, and willing to be asked again when others change the object. */
  readonly #willing = new Set<string>();
  /** To be asked again, since the object has changed after they were asked. */
  readonly #due = new Set<string>();
  #last: KubeObject | undefined;

  /** The notes of a check on a request, at the beginning of its turn. */
  static of({ reinvocation, object }: AdmissionRequest, check: string): ReinvocationNotes {
    const notes = reinvocation.note(check, () => new ReinvocationNotes());
    if (reinvocation.again && notes.#willing.size > 0 && !equalJson(notes.#last ?? null, object)) notes.#makeDue();
    return notes;
  }

  /** Whether a part is passed over: the second time all are that were not left to be asked again. */
  passes({ reinvocation }: AdmissionRequest, part: string): boolean {
    return reinvocation.again && !this.#due.has(part);
  }

  /** Notes that a part has changed the object: all that were asked before it are to be asked again. */
  changed({ reinvocation }: AdmissionRequest): void {
    this.#makeDue();
    reinvocation.needed = true;
  }

  /** Notes that a part was asked. */
  asked(part: string, reinvocationPolicy: string | undefined): void {
    if (reinvocationPolicy === 'IfNeeded') this.#willing.add(part);
  }

  /** Notes what the turn of the check has left. */
  done(object: KubeObject): void {
    // Without reinvocation, changes need not be tracked.
    this.#last = this.#willing.size === 0 ? undefined : structuredClone(object);
  }

  #makeDue(): void {
    for (const part of this.#willing) this.#due.add(part);
    this.#willing.clear();
  }
}

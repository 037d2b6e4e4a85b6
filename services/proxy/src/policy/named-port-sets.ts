import type { NamedPort } from './parse-policy.ts';
import type { Work } from './peer-groups.ts';
import { namedPortSet, type NamedPortSet } from './policy-chains.ts';
import type { Subject } from './subject.ts';

/** The listeners of the sets. */
export interface NamedPortSetsOptions {
  readonly onNew: (set: NamedPortSet) => void;
  readonly onGone: (set: NamedPortSet) => void;
  /** Called for each pod that has the port of a new or removed set. */
  readonly onChange: (subject: Subject) => void;
}

/** The sets of named ports that rules look up, and the pods that have these ports. */
export class NamedPortSets {
  readonly #options: NamedPortSetsOptions;
  readonly #subjects = new Map<NamedPortSet, Set<Subject>>();
  /** How many rules look up each set. */
  readonly #users = new Map<NamedPortSet, number>();

  constructor(options: NamedPortSetsOptions) {
    this.#options = options;
  }

  /** Whether a rule looks up the set. */
  has(set: NamedPortSet): boolean {
    return this.#users.has(set);
  }

  /** Notes the ports of a pod. */
  addSubject(subject: Subject): void {
    for (const port of subject.member.ports) {
      const set = namedPortSet(port);
      this.#subjects.set(set, (this.#subjects.get(set) ?? new Set()).add(subject));
    }
  }

  /** Forgets the ports of a pod. Called before they change, or when the pod is gone. */
  removeSubject(subject: Subject): void {
    for (const port of subject.member.ports) {
      const set = namedPortSet(port);
      const having = this.#subjects.get(set);
      if (having?.delete(subject) === true && having.size === 0) this.#subjects.delete(set);
    }
  }

  /** Counts one more rule that looks up the port. */
  *acquire(port: NamedPort): Work {
    const set = namedPortSet(port);
    const users = this.#users.get(set) ?? 0;
    this.#users.set(set, users + 1);
    if (users > 0) return;
    this.#options.onNew(set);
    yield* this.#reportSubjects(set);
  }

  /** Ends one `acquire`. */
  *release(port: NamedPort): Work {
    const set = namedPortSet(port);
    const users = (this.#users.get(set) ?? 1) - 1;
    this.#users.set(set, users);
    if (users > 0) return;
    this.#users.delete(set);
    this.#options.onGone(set);
    yield* this.#reportSubjects(set);
  }

  *#reportSubjects(set: NamedPortSet): Work {
    yield 1;
    for (const subject of this.#subjects.get(set) ?? []) {
      this.#options.onChange(subject);
      yield 1;
    }
  }
}

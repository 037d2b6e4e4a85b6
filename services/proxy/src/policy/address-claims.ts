import type { Subject } from './subject.ts';

/** Which pods say that they have an address. It should be one; but a pod's address is reported by its Node's agent. */
export class AddressClaims {
  readonly #claims = new Map<string, Set<Subject>>();

  add(subject: Subject): void {
    const { address } = subject.member;
    this.#claims.set(address, (this.#claims.get(address) ?? new Set()).add(subject));
  }

  /** Has to be called before the pod's address changes. */
  remove(subject: Subject): void {
    const { address } = subject.member;
    const claims = this.#claims.get(address);
    if (claims?.delete(subject) === true && claims.size === 0) this.#claims.delete(address);
  }

  /** All pods with the address. */
  claimantsOf(address: string): ReadonlySet<Subject> {
    return this.#claims.get(address) ?? NO_SUBJECTS;
  }
}

const NO_SUBJECTS: ReadonlySet<Subject> = new Set();

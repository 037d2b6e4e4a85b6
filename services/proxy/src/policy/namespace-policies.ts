import type { NetworkPolicy } from '@gantry/objects';
import { fits, minus, NAMESPACE_BOUNDS, NOTHING, plus } from './bounds.ts';
import { closedPolicy, parsePolicy, type Policy } from './parse-policy.ts';
import type { UsedPolicy } from './subject.ts';

/** The replacement of one policy by another one. A policy is undefined if there is none. */
export interface Replacement {
  readonly key: string;
  readonly before: Policy | undefined;
  readonly after: Policy | undefined;
  /** The entry in the selections of pods. It stays the same object when a policy changes. */
  readonly used: UsedPolicy;
}

/**
 * The policies of one namespace, within the bounds for all of them. If there is no room for a policy, `closedPolicy` applies in addition
 * to the others. So no pod is open that the policy would isolate.
 */
export class NamespacePolicies {
  readonly #namespace: string;
  readonly #objects = new Map<string, NetworkPolicy>();
  /** By key, including `closedPolicy`. */
  readonly #inUse = new Map<string, UsedPolicy>();
  readonly #refused = new Set<string>();
  /** Policies with omitted rules. */
  readonly #short = new Set<string>();
  #amounts = NOTHING;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** By key. */
  get inUse(): ReadonlyMap<string, UsedPolicy> {
    return this.#inUse;
  }

  get isEmpty(): boolean {
    return this.#objects.size === 0;
  }

  /** Whether there was no room for some policy. */
  get isClosed(): boolean {
    return this.#refused.size > 0;
  }

  /** Policies that may get more rules when there is room again. */
  get waiting(): readonly string[] {
    return [...this.#short, ...this.#refused];
  }

  /** The last taken state of a policy. */
  objectOf(key: string): NetworkPolicy | undefined {
    return this.#objects.get(key);
  }

  /** Takes a policy, or undefined if it is gone. Returns the replacements of the policies in use, in the order in which to apply them. */
  set(key: string, object: NetworkPolicy | undefined): readonly Replacement[] {
    const before = this.#inUse.get(key)?.policy;
    const others = minus(this.#amounts, before?.amounts ?? NOTHING);
    const after = object === undefined ? undefined : parsePolicy(object, minus(NAMESPACE_BOUNDS, others));
    this.#amounts = plus(others, after?.amounts ?? NOTHING);
    if (object === undefined) this.#objects.delete(key);
    else this.#objects.set(key, object);
    mark(this.#refused, key, object !== undefined && after === undefined);
    mark(this.#short, key, (after?.omitted ?? 0) > 0);
    const closed = closedPolicy(this.#namespace);
    const own = this.#replace(key, after);
    const ofAll =
      this.isClosed === this.#inUse.has(closed.key)
        ? undefined
        : this.#replace(closed.key, this.isClosed ? closed : undefined);
    return [own, ofAll].filter((replacement) => replacement !== undefined);
  }

  #replace(key: string, after: Policy | undefined): Replacement | undefined {
    const known = this.#inUse.get(key);
    const before = known?.policy;
    if (after === undefined) {
      this.#inUse.delete(key);
      return known === undefined ? undefined : { key, before, after, used: known };
    }
    const used = known ?? { policy: after };
    used.policy = after;
    this.#inUse.set(key, used);
    return { key, before, after, used };
  }
}

/** Whether there is more room after the replacement. */
export function leavesRoom({ before, after }: Replacement): boolean {
  return !fits(before?.amounts ?? NOTHING, after?.amounts ?? NOTHING);
}

function mark(keys: Set<string>, key: string, isIn: boolean): void {
  if (isIn) keys.add(key);
  else keys.delete(key);
}

import type { KubeObject, Resource } from '@gantry/objects';
import type { Dice } from './dice.ts';

/** What users do with the objects of one kind. A new kind is one entry of `SIMULATED_KINDS`. */
export interface SimulatedKind {
  /** What the names of its objects begin with: the kind when absent. Entries of one name take part in a history together. */
  readonly name?: string;
  readonly resource: Resource;
  /** The controllers without which the kind takes part in no history. */
  readonly controllers: readonly string[];
  /** How many objects there are at most at a time, in each namespace. */
  readonly objects: number;
  /** Everything but `apiVersion`, `kind`, and the name and namespace in `metadata`. */
  readonly create: (dice: Dice, name: string, namespace: string) => Content;
  /** Merge patches: scale, update, roll back, pause. Each is given the object as users know it. */
  readonly changes: readonly ((dice: Dice, object: KubeObject) => object)[];
  /** Merge patches after which the object comes to rest: at the end of a history. */
  readonly repair?: (object: KubeObject) => object;
  /** Set where what an orphaning deletion leaves depends on its moment. */
  readonly leavesOrphans?: false;
  /** Set where users never delete an object, since what that leaves behind depends on its moment. */
  readonly stays?: true;
  /** Whether users make objects of this kind owners of each other. */
  readonly owns?: true;
  /**
   * Whether a change waits until the status has observed the one before, or until a claim is bound if there is a volume for it: a state
   * that was not seen may leave no trace.
   */
  readonly waits: 'until-observed' | 'until-bound' | 'not';
}

/** An object without its type and name. */
export type Content = Record<string, unknown> & { readonly metadata?: Record<string, unknown> };

/** What the names of an entry's objects begin with. */
export function nameOfKind({ name, resource }: SimulatedKind): string {
  return name ?? resource.kind.toLowerCase();
}

import type { KubeObject, Resource } from '@gantry/objects';
import type { Dice } from '@gantry/controller-runtime/testing';

/** What users do with the objects of one kind. A new kind is one entry of `SIMULATED_KINDS`. */
export interface SimulatedKind {
  /** The prefix of the objects' names. When absent, it is the kind. All entries with one name take part in a history together. */
  readonly name?: string;
  readonly resource: Resource;
  /** The controllers that the kind needs. It takes part in a history only when all of them do. */
  readonly controllers: readonly string[];
  /** The maximum number of objects at a time in each namespace. */
  readonly objects: number;
  /** Returns an object's content without `apiVersion`, `kind`, and the name and namespace in `metadata`. */
  readonly create: (dice: Dice, name: string, namespace: string) => Content;
  /** Merge patches, for example to scale, update, roll back or pause. Each receives the object as users know it. */
  readonly changes: readonly ((dice: Dice, object: KubeObject) => object)[];
  /** Returns a merge patch with which the object comes to rest at the end of a history. */
  readonly repair?: (object: KubeObject) => object;
  /** Set when the objects that an orphaning deletion leaves behind depend on its timing. */
  readonly leavesOrphans?: false;
  /** Set when users never delete an object, because what a deletion leaves behind depends on its timing. */
  readonly stays?: true;
  /** Whether users make objects of this kind owners of each other. */
  readonly owns?: true;
  /**
   * What a change waits for: until the status has observed the previous change, or until a claim is bound if there is a volume for it. A
   * state that no controller has seen may leave no trace.
   */
  readonly waits: 'until-observed' | 'until-bound' | 'not';
}

/** An object without its type and name. */
export type Content = Record<string, unknown> & { readonly metadata?: Record<string, unknown> };

/** The prefix of the names of an entry's objects. */
export function nameOfKind({ name, resource }: SimulatedKind): string {
  return name ?? resource.kind.toLowerCase();
}

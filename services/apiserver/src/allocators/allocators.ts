import type { KubeObject, ResourceDefinition } from '@gantry/api';

/** What was claimed for a write that is about to happen. */
export interface Allocation {
  /** Keys of the claims: the write must find them in place. */
  readonly mustExist: readonly string[];
  /** The write has landed: what it no longer needs is given back. Never throws. */
  commit(): Promise<void>;
  /** The write has not landed: what was claimed for it is given back. Never throws. */
  rollback(): Promise<void>;
}

/** Gives objects what must be unique in the cluster. */
export interface Allocators {
  /** Claims what `object` needs and sets it in the object; with dry run it claims nothing. After validation. */
  begin(
    definition: ResourceDefinition,
    object: KubeObject,
    old: KubeObject | undefined,
    options: { readonly dryRun: boolean; readonly signal: AbortSignal },
  ): Promise<Allocation>;
  /** Gives back what a deleted object held. Never throws. */
  release(definition: ResourceDefinition, object: KubeObject): Promise<void>;
}

/** For writes that need nothing. */
export const noAllocation: Allocation = {
  mustExist: [],
  commit: () => Promise.resolve(),
  rollback: () => Promise.resolve(),
};

import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import type { Unchanged } from '../storage/index.ts';

/** The claims of one write. The caller calls either `commit` or `rollback`, or neither if the outcome of the write is unknown. */
export interface Allocation {
  /** The claims with their versions, which the write must compare. */
  readonly claims: readonly Unchanged[];
  /** Called after the write was committed. Releases claims that the object no longer needs. Never throws. */
  commit(): Promise<void>;
  /** Called when the write was not committed. Releases its new claims, unless the stored object needs them. Never throws. */
  rollback(): Promise<void>;
}

/** An object that is about to be stored. */
export interface Claimant {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
  /** The stored object; undefined for a create. */
  readonly old: KubeObject | undefined;
  readonly dryRun: boolean;
}

/** Allocates values that must be unique in the cluster. */
export interface Allocators {
  /** Whether objects of this kind may need claims. */
  isClaimant(definition: ResourceDefinition): boolean;
  /** Claims the values that the object needs and sets them in the object. A dry run claims nothing. Called after validation. */
  claim(claimant: Claimant, signal: AbortSignal): Promise<Allocation>;
  /** Releases the claims of a deleted object. Never throws. */
  release(definition: ResourceDefinition, object: KubeObject): Promise<void>;
}

/** The allocation of writes without claims. */
export const noAllocation: Allocation = {
  claims: [],
  commit: () => Promise.resolve(),
  rollback: () => Promise.resolve(),
};

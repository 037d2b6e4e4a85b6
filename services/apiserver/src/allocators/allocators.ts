import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import type { Unchanged } from '../storage/index.ts';

/** The claims of one write. Exactly one of `commit` and `rollback` is called, or none while the write's outcome is unknown. */
export interface Allocation {
  /** The claims: the write must find each of them in this version. */
  readonly claims: readonly Unchanged[];
  /** The write is committed: claims that the object no longer needs are given back. Never throws. */
  commit(): Promise<void>;
  /** The write is not committed: claims that were created for it are given back, unless the stored object needs them. Never throws. */
  rollback(): Promise<void>;
}

/** An object that is about to be stored. */
export interface Claimant {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
  /** The stored object; undefined for a creation. */
  readonly old: KubeObject | undefined;
  readonly dryRun: boolean;
}

/** Gives objects what must be unique in the cluster. */
export interface Allocators {
  /** Whether objects of this kind may need claims. */
  isClaimant(definition: ResourceDefinition): boolean;
  /** Claims what the object needs and sets it in the object; with dry run it claims nothing. After validation. */
  claim(claimant: Claimant, signal: AbortSignal): Promise<Allocation>;
  /** Gives back the claims of a deleted object. Never throws. */
  release(definition: ResourceDefinition, object: KubeObject): Promise<void>;
}

/** For writes that need nothing. */
export const noAllocation: Allocation = {
  claims: [],
  commit: () => Promise.resolve(),
  rollback: () => Promise.resolve(),
};

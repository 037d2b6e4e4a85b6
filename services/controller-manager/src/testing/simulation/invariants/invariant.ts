import type { Change, World } from '../world.ts';

/** A rule that holds at every revision of the store. The numbers are those of the project's list of invariants. */
export interface Invariant {
  readonly name: string;
  /** Watches the world and reports each violation in words. */
  readonly watch: (world: World, report: (violation: string) => void) => void;
}

/** Names the object of a change for a report. */
export function describeChange({ resource, name, resourceVersion }: Change): string {
  return `${resource.resource} ${name} at ${Math.floor(resourceVersion / 256)}`;
}

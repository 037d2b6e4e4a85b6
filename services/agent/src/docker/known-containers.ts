import type { Inspections } from './inspections.ts';
import type { ContainerIndex } from './container-index.ts';

/** What is known of the engine's containers without a question to it. */
export interface KnownContainers {
  readonly inspections: Inspections;
  readonly containers: ContainerIndex;
}

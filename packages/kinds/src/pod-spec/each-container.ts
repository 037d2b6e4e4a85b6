import type { Container, PodSpec } from '@gantry/objects';

/** Containers with the paths at which they are. */
export type Placed = readonly (readonly [container: Container, path: string])[];

/** The containers of all three lists, those that initialise first. */
export function eachContainer(spec: PodSpec, path: string): Placed {
  return (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((field) =>
    ((spec[field] ?? []) as readonly Container[]).map((container, i) => [container, `${path}.${field}[${i}]`] as const),
  );
}

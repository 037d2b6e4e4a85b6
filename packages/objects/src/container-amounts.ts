import type { Container, PodSpec } from './generated/types.ts';

/** How resource lists are added and compared, name by name. A name that one list lacks is in the result as the other list has it. */
export interface ListArithmetic<List> {
  readonly none: List;
  readonly sum: (left: List, right: List) => List;
  readonly largest: (left: List, right: List) => List;
}

/**
 * What the containers of a pod request, or are limited to, together: the larger of the containers with the sidecars, and the largest init
 * container with the sidecars started before it. Lists are added in Kubernetes' order, by which a sum gets its format.
 */
export function combineContainers<List>(
  spec: PodSpec | undefined,
  listOf: (container: Container) => List,
  { none, sum, largest }: ListArithmetic<List>,
): List {
  let running = none;
  for (const container of spec?.containers ?? []) running = sum(running, listOf(container));
  let sidecars = none;
  let initPeak = none;
  for (const container of spec?.initContainers ?? []) {
    const list = listOf(container);
    if (container.restartPolicy === 'Always') {
      running = sum(running, list);
      sidecars = sum(sidecars, list);
      initPeak = largest(initPeak, sidecars);
    } else initPeak = largest(initPeak, sum(list, sidecars));
  }
  return largest(running, initPeak);
}

import type { Container, PodSpec } from './generated/types.ts';

/** Operations on resource lists, by name. A name that is in only one list is kept unchanged. */
export interface ListArithmetic<List> {
  readonly none: List;
  readonly sum: (left: List, right: List) => List;
  readonly largest: (left: List, right: List) => List;
}

/**
 * The combined requests or limits of a pod's containers: the larger of (a) the containers plus all sidecars and (b) the largest init
 * container plus the sidecars started before it. Lists are added in Kubernetes' order, which determines the format of a sum.
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

import { HOSTNAME_LABEL } from '@gantry/objects';
import { domainOf } from '../../framework/affinity-counts.ts';
import type { ScorePlugin } from '../../framework/plugin.ts';
import type { PodInfo, Spreading } from '../../framework/pod-info.ts';
import { isInAllDomains } from '../../framework/spread-counts.ts';
import type { NodeInfo } from '../../framework/node-info.ts';
import { countsFor } from '../../framework/topology-spread.ts';

/**
 * Ranks nodes by the pod's own constraints with ScheduleAnyway: nodes in domains with few matching pods score higher. A constraint with
 * many domains counts for more. The formula is that of Kubernetes' PodTopologySpread
 * (pkg/scheduler/framework/plugins/podtopologyspread/scoring.go). Terminating pods do not count: otherwise their replacements would avoid
 * their nodes and gather on others.
 */
export const evenSpread: ScorePlugin = {
  name: 'PodTopologySpread',
  weight: 2,
  score: (pod, nodes) => {
    const preferred = pod.spreading?.preferred ?? [];
    if (preferred.length === 0) return 0;
    const constraints = preferred.map(({ constraint }) => constraint);
    const needed = pod.spreading?.isDefault === true ? [] : constraints;
    const isIn = nodes.map((node) => isInAllDomains(needed, node));
    const among = nodes.filter((_, i) => isIn[i]);
    const weights = preferred.map(({ constraint }) => Math.log(2 + domainsAmong(constraint, among)));
    const sums = nodes.map((node, i) => {
      if (isIn[i] !== true) return undefined;
      const points = preferred.map((count, j) => {
        if (domainOf(count.constraint, node) === undefined) return 0;
        return countOn(count, pod, node) * (weights[j] ?? 0) + count.constraint.maxSkew - 1;
      });
      return Math.round(points.reduce((total, one) => total + one, 0));
    });
    const present = sums.filter((sum) => sum !== undefined);
    const [least, most] = [Math.min(...present), Math.max(0, ...present)];
    return sums.map((sum) => {
      if (sum === undefined) return 0;
      return most === 0 ? 100 : Math.floor((100 * (most + least - sum)) / most);
    });
  },
};

type PreferredCount = Spreading['preferred'][number];
type Constraint = PreferredCount['constraint'];

function domainsAmong(constraint: Constraint, nodes: readonly NodeInfo[]): number {
  if (constraint.topologyKey === HOSTNAME_LABEL) return nodes.length;
  return new Set(nodes.map((node) => domainOf(constraint, node))).size;
}

function countOn({ constraint, byValue }: PreferredCount, { pod }: PodInfo, node: NodeInfo): number {
  if (constraint.topologyKey !== HOSTNAME_LABEL) return byValue.get(domainOf(constraint, node) ?? '') ?? 0;
  // Each node is a domain of its own here, so its pods are counted directly. That includes nodes that the constraint excludes.
  let count = 0;
  for (const other of node.pods.values()) if (countsFor(constraint, pod.metadata.namespace ?? '', other)) count += 1;
  return count;
}

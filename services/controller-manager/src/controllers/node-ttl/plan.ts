import type { Plan } from '@gantry/base';
import { type Node, NODE_TTL_ANNOTATION } from '@gantry/objects';

/** How long, in seconds, a node's agent may keep ConfigMaps and Secrets that it has read. */

export type Action = { readonly kind: 'annotate'; readonly ttlSeconds: number };

/** Sizes of clusters, as in Kubernetes. They overlap, so that a cluster between two does not change all the time. */
const STEPS = [
  { min: 0, max: 100, ttlSeconds: 0 },
  { min: 90, max: 500, ttlSeconds: 15 },
  { min: 450, max: 1000, ttlSeconds: 30 },
  { min: 900, max: 2000, ttlSeconds: 60 },
  { min: 1800, max: Infinity, ttlSeconds: 300 },
] as const;

/** The step of a cluster of this many nodes that was at `step` before: an index for `planTtl`. */
export function stepOf(nodes: number, step: number): number {
  let now = step;
  while (now < STEPS.length - 1 && nodes > (STEPS[now]?.max ?? 0)) now++;
  while (now > 0 && nodes < (STEPS[now]?.min ?? 0)) now--;
  return now;
}

/** Every node has the annotation that belongs to the size of the cluster. */
export function planTtl(node: Node | undefined, step: number): Plan<Action> {
  const { ttlSeconds } = STEPS[step] ?? STEPS[0];
  if (node === undefined) return { actions: [] };
  const { [NODE_TTL_ANNOTATION]: now } = node.metadata.annotations ?? {};
  const isRight = now !== undefined && /^[+-]?\d+$/.test(now) && Number(now) === ttlSeconds;
  return { actions: isRight ? [] : [{ kind: 'annotate', ttlSeconds }] };
}

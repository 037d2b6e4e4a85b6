import type { Plan } from '@gantry/base';
import { type Node, NODE_TTL_ANNOTATION } from '@gantry/objects';

/** Seconds for which a node's agent may cache ConfigMaps and Secrets. */

export type Action = { readonly kind: 'annotate'; readonly ttlSeconds: number };

/** Size classes of clusters, as in Kubernetes. They overlap, so that a cluster near a limit does not change its class all the time. */
const STEPS = [
  { min: 0, max: 100, ttlSeconds: 0 },
  { min: 90, max: 500, ttlSeconds: 15 },
  { min: 450, max: 1000, ttlSeconds: 30 },
  { min: 900, max: 2000, ttlSeconds: 60 },
  { min: 1800, max: Infinity, ttlSeconds: 300 },
] as const;

/** The size class of a cluster with this many nodes whose previous class was `step`: an index for `planTtl`. */
export function stepOf(nodes: number, step: number): number {
  let now = step;
  while (now < STEPS.length - 1 && nodes > (STEPS[now]?.max ?? 0)) now++;
  while (now > 0 && nodes < (STEPS[now]?.min ?? 0)) now--;
  return now;
}

/** Every node gets the annotation for the cluster's size class. */
export function planTtl(node: Node | undefined, step: number): Plan<Action> {
  const { ttlSeconds } = STEPS[step] ?? STEPS[0];
  if (node === undefined) return { actions: [] };
  const { [NODE_TTL_ANNOTATION]: now } = node.metadata.annotations ?? {};
  const isRight = now !== undefined && /^[+-]?\d+$/.test(now) && Number(now) === ttlSeconds;
  return { actions: isRight ? [] : [{ kind: 'annotate', ttlSeconds }] };
}

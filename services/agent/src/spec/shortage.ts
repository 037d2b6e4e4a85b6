import type { PodRejection } from './pod-rejection.ts';

/** What a node has too little of for a pod: thousandths of a CPU, bytes, or a count. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

/** The rejection for a shortage, with kubelet's reason and message. */
export function shortageRejection({ resource, requested, used, capacity }: Shortage): PodRejection {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}

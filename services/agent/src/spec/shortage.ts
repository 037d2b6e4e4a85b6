import type { PodRejection } from './pod-rejection.ts';

/** A resource that a node lacks for a pod, in thousandths of a CPU, bytes, or units. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

/** The rejection for a shortage, with the kubelet's reason and message. */
export function shortageRejection({ resource, requested, used, capacity }: Shortage): PodRejection {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}

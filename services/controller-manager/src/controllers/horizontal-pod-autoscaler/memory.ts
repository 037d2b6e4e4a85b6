import type { Instant } from '@gantry/base';
import { type Behaviour, DOWNSCALE_WINDOW_MS } from './scaling-rules.ts';

/** A count that was computed from metrics. */
export interface Recommendation {
  readonly replicas: number;
  readonly at: Instant;
}

/** A change of scale: how many replicas were added or removed. */
export interface ScaleEvent {
  readonly change: number;
  readonly at: Instant;
}

/**
 * The memory of one autoscaler. Only this leader has it, as in Kubernetes: a new leader starts with the current count as the only
 * recommendation.
 */
export interface Memory {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

export const NO_MEMORY: Memory = { recommendations: [], ups: [], downs: [] };

/** The memory with the current count as a recommendation, if there is none. */
export function begun(memory: Memory, replicas: number, now: Instant): Memory {
  return memory.recommendations.length > 0 ? memory : { ...memory, recommendations: [{ replicas, at: now }] };
}

/** The memory with a new recommendation, without those that are older than all windows. */
export function recommended(memory: Memory, replicas: number, behaviour: Behaviour | undefined, now: Instant): Memory {
  const windowMs =
    behaviour === undefined ? DOWNSCALE_WINDOW_MS : Math.max(behaviour.up.windowMs, behaviour.down.windowMs);
  const recent = memory.recommendations.filter(({ at }) => at >= now - windowMs);
  return { ...memory, recommendations: [...recent, { replicas, at: now }] };
}

/** The memory with a new change, without changes of the same direction that are older than all policy periods. */
export function scaled(
  memory: Memory,
  from: number,
  to: number,
  behaviour: Behaviour | undefined,
  now: Instant,
): Memory {
  if (behaviour === undefined) return memory;
  const [events, { policies }] = to > from ? [memory.ups, behaviour.up] : [memory.downs, behaviour.down];
  const longestMs = Math.max(0, ...policies.map(({ periodMs }) => periodMs));
  const recent = [...events.filter(({ at }) => at >= now - longestMs), { change: Math.abs(to - from), at: now }];
  return to > from ? { ...memory, ups: recent } : { ...memory, downs: recent };
}

/** The sum of the changes within a period. */
export function changedWithin(events: readonly ScaleEvent[], periodMs: number, now: Instant): number {
  return events.reduce((sum, { change, at }) => (at > now - periodMs ? sum + change : sum), 0);
}

import type { Instant } from '@gantry/base';
import { type Behaviour, DOWNSCALE_WINDOW_MS } from './scaling-rules.ts';

/** A count that metrics asked for. */
export interface Recommendation {
  readonly replicas: number;
  readonly at: Instant;
}

/** A change that was made: how many replicas were added or removed. */
export interface ScaleEvent {
  readonly change: number;
  readonly at: Instant;
}

/**
 * What is remembered of one autoscaler, by this leader alone, as in Kubernetes: a new one begins with the present count as its
 * only recommendation.
 */
export interface Memory {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

export const NO_MEMORY: Memory = { recommendations: [], ups: [], downs: [] };

/** With the present count as a recommendation, where there is none. */
export function begun(memory: Memory, replicas: number, now: Instant): Memory {
  return memory.recommendations.length > 0 ? memory : { ...memory, recommendations: [{ replicas, at: now }] };
}

/** With one more recommendation, without those that no window reaches. */
export function recommended(memory: Memory, replicas: number, behaviour: Behaviour | undefined, now: Instant): Memory {
  const windowMs =
    behaviour === undefined ? DOWNSCALE_WINDOW_MS : Math.max(behaviour.up.windowMs, behaviour.down.windowMs);
  const recent = memory.recommendations.filter(({ at }) => at >= now - windowMs);
  return { ...memory, recommendations: [...recent, { replicas, at: now }] };
}

/** With a change that was made, without those of the same direction that no policy's period reaches. */
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

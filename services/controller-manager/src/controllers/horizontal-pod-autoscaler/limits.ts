import type { Instant } from '@gantry/base';
import type { Memory } from './memory.ts';
import { changedWithin } from './memory.ts';
import { type Behaviour, DOWNSCALE_WINDOW_MS, type Rules } from './scaling-rules.ts';

/** The limits of a desired count. */
export interface Bounds {
  readonly current: number;
  readonly min: number;
  readonly max: number;
}

/** A count within its limits, and the reason for it. */
export interface Limited {
  readonly replicas: number;
  readonly reason: string;
  readonly message: string;
}

/** Kubernetes' limit per step without a behaviour: twice as many, but at least four. */
const UP_FACTOR = 2;
const UP_LEAST = 4;

const WITHIN = { reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range' };
const TOO_FEW = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const TOO_MANY = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const UP_LIMIT = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const DOWN_LIMIT = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};
const UP_STABILISED = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const DOWN_STABILISED = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};

/** The highest recent recommendation: without a behaviour, only scaling down is delayed. */
export function stabilise(memory: Memory, desired: number, now: Instant): Limited {
  const recent = memory.recommendations.filter(({ at }) => at >= now - DOWNSCALE_WINDOW_MS);
  const replicas = Math.max(desired, ...recent.map((one) => one.replicas));
  return { replicas, ...DOWN_STABILISED };
}

/** The current count, changed only as far as all recommendations in each direction's window allow. */
export function stabiliseBy(
  { up, down }: Behaviour,
  memory: Memory,
  { current, desired }: { readonly current: number; readonly desired: number },
  now: Instant,
): Limited {
  const since = (windowMs: number) =>
    memory.recommendations.filter(({ at }) => at > now - windowMs).map(({ replicas }) => replicas);
  const least = Math.min(desired, ...since(up.windowMs));
  const most = Math.max(desired, ...since(down.windowMs));
  const replicas = Math.min(Math.max(current, least), most);
  return { replicas, ...(desired >= current ? UP_STABILISED : DOWN_STABILISED) };
}

/** The count limited by minimum, maximum and the limit per step. */
export function limit(desired: number, { current, min, max }: Bounds): Limited {
  const step = Math.trunc(Math.max(UP_FACTOR * current, UP_LEAST));
  const most = Math.min(max, step);
  if (desired < min) return { replicas: min, ...TOO_FEW };
  if (desired > most) return { replicas: most, ...(max > step ? UP_LIMIT : TOO_MANY) };
  return { replicas: desired, ...WITHIN };
}

/** The count limited by minimum, maximum and the policies, considering the changes in their periods. */
export function limitBy(
  behaviour: Behaviour,
  memory: Memory,
  desired: number,
  { current, min, max }: Bounds,
  now: Instant,
): Limited {
  if (desired > current) {
    const step = Math.max(current, upLimit(behaviour.up, current, memory, now));
    const most = Math.min(max, step);
    if (desired > most) return { replicas: most, ...(max > step ? UP_LIMIT : TOO_MANY) };
  } else if (desired < current) {
    const step = Math.min(current, downLimit(behaviour.down, current, memory, now));
    const least = Math.max(min, step);
    if (desired < least) return { replicas: least, ...(min < step ? DOWN_LIMIT : TOO_FEW) };
  }
  return { replicas: desired, ...WITHIN };
}

/** The maximum count that the policies allow when scaling up. */
export function upLimit({ selectPolicy, policies }: Rules, current: number, memory: Memory, now: Instant): number {
  if (selectPolicy === 'Disabled') return current;
  const proposed = policies.map(({ type, value, periodMs }) => {
    const start = startOfPeriod(current, memory, periodMs, now);
    return type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100));
  });
  return selectPolicy === 'Min' ? Math.min(...proposed) : Math.max(...proposed);
}

/** The minimum count that the policies allow when scaling down. */
export function downLimit({ selectPolicy, policies }: Rules, current: number, memory: Memory, now: Instant): number {
  if (selectPolicy === 'Disabled') return current;
  const proposed = policies.map(({ type, value, periodMs }) => {
    const start = startOfPeriod(current, memory, periodMs, now);
    return type === 'Pods' ? start - value : Math.trunc(start * (1 - value / 100));
  });
  return selectPolicy === 'Min' ? Math.max(...proposed) : Math.min(...proposed);
}

function startOfPeriod(current: number, { ups, downs }: Memory, periodMs: number, now: Instant): number {
  return current - changedWithin(ups, periodMs, now) + changedWithin(downs, periodMs, now);
}

import type { HorizontalPodAutoscaler, HPAScalingRules } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import cases from './limits.cases.json' with { type: 'json' };
import { downLimit, limit, limitBy, stabilise, stabiliseBy, upLimit } from './limits.ts';
import { NO_MEMORY, recommended, scaled } from './memory.ts';
import { type Behaviour, behaviourOf, type Rules } from './scaling-rules.ts';

/** The tables of Kubernetes' horizontal_test.go on limits of changes. */
interface PolicyCase {
  readonly name: string;
  readonly current: number;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly expected: number;
  readonly reason: string;
  readonly ups?: readonly { readonly change: number; readonly secondsAgo: number }[];
  readonly downs?: readonly { readonly change: number; readonly secondsAgo: number }[];
  readonly scaleUp?: HPAScalingRules;
  readonly scaleDown?: HPAScalingRules;
}

interface WindowCase {
  readonly name: string;
  readonly recommendations: readonly { readonly replicas: number; readonly secondsAgo: number }[];
  readonly current: number;
  readonly desired: number;
  readonly expected: number;
  readonly upSeconds: number;
  readonly downSeconds: number;
}

const NOW = Date.parse('2026-01-01T00:00:00Z');
const ago = <T extends { readonly secondsAgo: number }>(events: readonly T[] = []) =>
  events.map(({ secondsAgo, ...event }) => ({ ...event, at: NOW - secondsAgo * 1000 }));

function behaviour(behavior: { readonly scaleUp?: HPAScalingRules; readonly scaleDown?: HPAScalingRules }): Behaviour {
  const spec = { scaleTargetRef: { kind: 'D', name: 'd' }, maxReplicas: 1, behavior };
  const autoscaler: HorizontalPodAutoscaler = { apiVersion: 'v2', kind: 'H', metadata: {}, spec };
  const found = behaviourOf(autoscaler);
  if (found === undefined) throw new TypeError('a behaviour is expected');
  return found;
}

describe('policies', () => {
  it.each(cases.policies as readonly PolicyCase[])('$name', ({ desired, ups, downs, scaleUp, scaleDown, ...one }) => {
    const rules = behaviour({
      ...(scaleUp === undefined ? {} : { scaleUp }),
      ...(scaleDown === undefined ? {} : { scaleDown }),
    });
    const memory = { ...NO_MEMORY, ups: ago(ups), downs: ago(downs) } as typeof NO_MEMORY;
    expect(limitBy(rules, memory, desired, one, NOW)).toMatchObject({ replicas: one.expected, reason: one.reason });
  });

  const of = (selectPolicy: string): Rules => ({
    windowMs: 300_000,
    selectPolicy,
    policies: [
      { type: 'Pods', value: 2, periodMs: 60_000 },
      { type: 'Percent', value: 50, periodMs: 60_000 },
    ],
  });

  it('allow the largest change, the smallest, or none', () => {
    expect(upLimit(of('Max'), 1, NO_MEMORY, NOW)).toBe(3);
    expect(upLimit(of('Min'), 1, NO_MEMORY, NOW)).toBe(2);
    expect(upLimit(of('Disabled'), 1, NO_MEMORY, NOW)).toBe(1);
    expect(downLimit(of('Max'), 5, NO_MEMORY, NOW)).toBe(2);
    expect(downLimit(of('Min'), 5, NO_MEMORY, NOW)).toBe(3);
    expect(downLimit(of('Disabled'), 5, NO_MEMORY, NOW)).toBe(5);
  });

  it('count what was changed within their period, and forget the rest', () => {
    const rules = behaviour({ scaleUp: { policies: [{ type: 'Pods', value: 4, periodSeconds: 60 }] } });
    const bounds = { min: 1, max: 100 };
    let memory = scaled(NO_MEMORY, 1, 4, rules, NOW);
    expect(limitBy(rules, memory, 50, { ...bounds, current: 4 }, NOW + 30_000).replicas).toBe(5);
    memory = scaled(memory, 4, 5, rules, NOW + 61_000);
    expect(memory.ups).toEqual([{ change: 1, at: NOW + 61_000 }]);
    expect(limitBy(rules, memory, 50, { ...bounds, current: 5 }, NOW + 61_000).replicas).toBe(8);
    expect(scaled(NO_MEMORY, 1, 4, undefined, NOW)).toBe(NO_MEMORY);
  });
});

describe('without policies', () => {
  it.each([
    [5, 7, 3, 8, 7, 'DesiredWithinRange'],
    [3, 1, 2, 8, 2, 'TooFewReplicas'],
    [1, 0, 0, 10, 0, 'DesiredWithinRange'],
    [20, 1000, 1, 10, 10, 'TooManyReplicas'],
    [3, 1000, 1, 2000, 6, 'ScaleUpLimit'],
    [1, 1000, 1, 2000, 4, 'ScaleUpLimit'],
  ])('of %i, %i within %i and %i become %i: %s', (current, desired, min, max, replicas, reason) => {
    expect(limit(desired, { current, min, max })).toMatchObject({ replicas, reason });
  });
});

describe('recommendations', () => {
  it.each(cases.windows as readonly WindowCase[])('$name', ({ recommendations, upSeconds, downSeconds, ...one }) => {
    const rules = behaviour({
      scaleUp: { stabilizationWindowSeconds: upSeconds },
      scaleDown: { stabilizationWindowSeconds: downSeconds },
    });
    const memory = { ...NO_MEMORY, recommendations: ago(recommendations) };
    expect(stabiliseBy(rules, memory, one, NOW).replicas).toBe(one.expected);
  });

  it.each(cases.plain)('$name, without a behaviour', ({ recommendations, desired, expected }) => {
    const memory = { ...NO_MEMORY, recommendations: ago(recommendations) };
    expect(stabilise(memory, desired, NOW).replicas).toBe(expected);
  });

  it('are kept for the longest window, and no longer', () => {
    const rules = behaviour({ scaleDown: { stabilizationWindowSeconds: 60 } });
    let memory = NO_MEMORY;
    for (let at = NOW; at < NOW + 3_600_000; at += 15_000) memory = recommended(memory, 1, rules, at);
    expect(memory.recommendations).toHaveLength(5);
  });
});

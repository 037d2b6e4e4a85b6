import { formatTime } from '@gantry/base';
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior, MetricSpec, Pod, Scale } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from './draft.ts';
import { type Memory, NO_MEMORY } from './memory.ts';
import type { MetricReading } from './metric-readings.ts';
import { needsMetrics, type ObservedAutoscaler, planAutoscaler } from './plan.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const READY_AT = formatTime(NOW - 3_600_000);

interface World {
  readonly current?: number;
  readonly min?: number;
  readonly max?: number;
  readonly behavior?: HorizontalPodAutoscalerBehavior;
  readonly metrics?: readonly MetricSpec[];
  readonly readings?: readonly MetricReading[];
  readonly memory?: Memory;
  readonly status?: HorizontalPodAutoscaler['status'];
  readonly selected?: ObservedAutoscaler['selected'];
  readonly target?: ObservedAutoscaler['target'];
}

const CPU: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
};
const QUEUE: MetricSpec = {
  type: 'External',
  external: { metric: { name: 'queue' }, target: { type: 'Value', value: '10' } },
};

function pods(count: number): readonly Pod[] {
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p-${i}`, namespace: 'n' },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] },
    status: {
      phase: 'Running',
      startTime: READY_AT,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: READY_AT }],
    },
  }));
}

/** The metrics of pods that each request one core and use this share of it, in percent. */
function using(percents: readonly number[]): MetricReading {
  const metrics = percents.map((percent, i) => [`p-${i}`, { value: percent * 10, at: NOW, windowMs: 10_000 }] as const);
  return { kind: 'pods', metrics: new Map(metrics) };
}

const full = (count: number, percent: number) => using(Array.from({ length: count }, () => percent));

function world({ current = 3, min = 1, max = 10, behavior, ...rest }: World): ObservedAutoscaler {
  const { metrics = [CPU], readings = [full(current, 50)], memory = NO_MEMORY, status } = rest;
  const scale: Scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'web', namespace: 'n' },
    spec: { replicas: current },
    status: { replicas: current, selector: 'app=web' },
  };
  return {
    autoscaler: {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'auto', namespace: 'n' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: min,
        maxReplicas: max,
        metrics: [...metrics],
        ...(behavior === undefined ? {} : { behavior }),
      },
      ...(status === undefined ? {} : { status }),
    },
    target: rest.target ?? { kind: 'found', scale },
    selected: rest.selected ?? { kind: 'pods', pods: pods(current) },
    readings,
    memory,
  };
}

const plan = (of: World, now = NOW) => planAutoscaler(world(of), now).actions;

function actionsOf<K extends Action['kind']>(actions: readonly Action[], kind: K): Extract<Action, { kind: K }>[] {
  return actions.filter((one): one is Extract<Action, { kind: K }> => one.kind === kind);
}

function outcome(actions: readonly Action[]) {
  const status = actionsOf(actions, 'updateStatus')[0]?.status;
  return {
    replicas: actionsOf(actions, 'rescale')[0]?.replicas,
    conditions: (status?.conditions ?? []).map((one) => `${one.type}=${one.status} ${one.reason ?? ''}`),
    events: actionsOf(actions, 'event').map(({ reason, message }) => `${reason}: ${message}`),
  };
}

const FAILED: MetricReading = { kind: 'failed', message: 'unable to fetch metrics from resource metrics API: gone' };
const GONE = `unable to get metrics for resource cpu: ${FAILED.message}`;

describe('an autoscaler', () => {
  it.each<[string, World, ReturnType<typeof outcome>]>([
    [
      'reports a target that cannot be read',
      { target: { kind: 'failed', message: 'deployments.apps "web" not found' } },
      {
        replicas: undefined,
        conditions: ['AbleToScale=False FailedGetScale'],
        events: ['FailedGetScale: deployments.apps "web" not found'],
      },
    ],
    [
      'is disabled by a target at 0',
      { current: 0 },
      {
        replicas: undefined,
        conditions: ['AbleToScale=True SucceededGetScale', 'ScalingActive=False ScalingDisabled'],
        events: [],
      },
    ],
    [
      'brings a count above its maximum down',
      { current: 20 },
      {
        replicas: 10,
        conditions: ['AbleToScale=True SucceededRescale'],
        events: ['SuccessfulRescale: New size: 10; reason: Current number of replicas above Spec.MaxReplicas'],
      },
    ],
    [
      'brings a count below its minimum up',
      { current: 1, min: 4 },
      {
        replicas: 4,
        conditions: ['AbleToScale=True SucceededRescale'],
        events: ['SuccessfulRescale: New size: 4; reason: Current number of replicas below Spec.MinReplicas'],
      },
    ],
    [
      'stays where usage is within the tolerance',
      { readings: [full(3, 54)] },
      {
        replicas: undefined,
        conditions: [
          'AbleToScale=True ReadyForNewScale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=False DesiredWithinRange',
        ],
        events: [],
      },
    ],
    [
      'adds where usage is above its target',
      { readings: [full(3, 80)] },
      {
        replicas: 5,
        conditions: [
          'AbleToScale=True SucceededRescale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=False DesiredWithinRange',
        ],
        events: [
          'SuccessfulRescale: New size: 5; reason: cpu resource utilization (percentage of request) above target',
        ],
      },
    ],
    [
      'adds no more than twice as many at once',
      { readings: [full(3, 500)], max: 100 },
      {
        replicas: 6,
        conditions: [
          'AbleToScale=True SucceededRescale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=True ScaleUpLimit',
        ],
        events: [
          'SuccessfulRescale: New size: 6; reason: cpu resource utilization (percentage of request) above target',
        ],
      },
    ],
    [
      'waits with removals, since the present count is a recommendation too',
      { readings: [full(3, 10)] },
      {
        replicas: undefined,
        conditions: [
          'AbleToScale=True ScaleDownStabilized',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=False DesiredWithinRange',
        ],
        events: [],
      },
    ],
    [
      'removes when every recent recommendation is lower',
      { readings: [full(3, 10)], memory: { ...NO_MEMORY, recommendations: [{ replicas: 1, at: NOW - 60_000 }] } },
      {
        replicas: 1,
        conditions: [
          'AbleToScale=True SucceededRescale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=False DesiredWithinRange',
        ],
        events: ['SuccessfulRescale: New size: 1; reason: All metrics below target'],
      },
    ],
    [
      'does nothing without a metric that works',
      { readings: [FAILED] },
      {
        replicas: undefined,
        conditions: ['AbleToScale=True SucceededGetScale', 'ScalingActive=False FailedGetResourceMetric'],
        events: [
          `FailedGetResourceMetric: failed to get cpu utilization: ${GONE}`,
          `FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: failed to get cpu utilization: ${GONE}`,
        ],
      },
    ],
    [
      'adds by the metrics that work',
      { metrics: [CPU, QUEUE], readings: [FAILED, { kind: 'values', values: [40_000] }] },
      {
        replicas: 6,
        conditions: [
          'AbleToScale=True SucceededRescale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=True ScaleUpLimit',
        ],
        events: [
          `FailedGetResourceMetric: failed to get cpu utilization: ${GONE}`,
          'SuccessfulRescale: New size: 6; reason: external metric queue(nil) above target',
        ],
      },
    ],
    [
      'removes nothing while a metric fails',
      { metrics: [CPU, QUEUE], readings: [FAILED, { kind: 'values', values: [1000] }] },
      {
        replicas: undefined,
        conditions: ['AbleToScale=True SucceededGetScale', 'ScalingActive=False FailedGetResourceMetric'],
        events: [
          `FailedGetResourceMetric: failed to get cpu utilization: ${GONE}`,
          `FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 2), first error is: failed to get cpu resource metric value: failed to get cpu utilization: ${GONE}`,
        ],
      },
    ],
    [
      'refuses a target without a selector',
      {
        selected: {
          kind: 'refused',
          reason: 'InvalidSelector',
          event: 'SelectorRequired',
          message: 'selector is required',
        },
      },
      {
        replicas: undefined,
        conditions: ['AbleToScale=True SucceededGetScale', 'ScalingActive=False InvalidSelector'],
        events: ['SelectorRequired: selector is required', 'FailedComputeMetricsReplicas: selector is required'],
      },
    ],
    [
      'reports a type of metric that it does not know',
      { metrics: [{ type: 'Odd' }], readings: [{ kind: 'values', values: [] }] },
      {
        replicas: undefined,
        conditions: ['AbleToScale=True SucceededGetScale', 'ScalingActive=False InvalidMetricSourceType'],
        events: [
          'InvalidMetricSourceType: unknown metric source type "Odd"',
          'FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: unknown metric source type "Odd"',
        ],
      },
    ],
    [
      'comes down to 0 where an external metric allows that',
      {
        current: 1,
        min: 0,
        metrics: [QUEUE],
        readings: [{ kind: 'values', values: [0] }],
        memory: { ...NO_MEMORY, recommendations: [{ replicas: 0, at: NOW - 1000 }] },
      },
      {
        replicas: 0,
        conditions: [
          'AbleToScale=True SucceededRescale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=False DesiredWithinRange',
          'ScaledToZero=True ScaledToZero',
        ],
        events: ['SuccessfulRescale: New size: 0; reason: All metrics below target'],
      },
    ],
    [
      'leaves 0 again, where it has set it',
      {
        current: 0,
        min: 0,
        metrics: [QUEUE],
        readings: [{ kind: 'values', values: [15_000] }],
        status: { desiredReplicas: 0, conditions: [{ type: 'ScaledToZero', status: 'True' }] },
      },
      {
        replicas: 2,
        conditions: [
          'ScaledToZero=False NotScaledToZero',
          'AbleToScale=True SucceededRescale',
          'ScalingActive=True ValidMetricFound',
          'ScalingLimited=False DesiredWithinRange',
        ],
        events: ['SuccessfulRescale: New size: 2; reason: external metric queue(nil) above target'],
      },
    ],
  ])('%s', (_name, of, expected) => {
    expect(outcome(plan(of))).toEqual(expected);
  });

  it('reports what it has measured, and its target in the status', () => {
    const [update] = actionsOf(plan({ readings: [full(3, 80)] }), 'updateStatus');
    expect(update?.status).toMatchObject({
      currentReplicas: 3,
      desiredReplicas: 5,
      lastScaleTime: formatTime(NOW),
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 80, averageValue: '800m' } } },
      ],
    });
  });

  it('says why the scale could not be set, and plans as before', () => {
    const [rescale] = actionsOf(plan({ readings: [full(3, 80)] }), 'rescale');
    expect(outcome(rescale?.failed('no') ?? [])).toEqual({
      replicas: undefined,
      conditions: [
        'AbleToScale=False FailedUpdateScale',
        'ScalingActive=True ValidMetricFound',
        'ScalingLimited=False DesiredWithinRange',
      ],
      events: [
        'FailedRescale: New size: 5; reason: cpu resource utilization (percentage of request) above target; error: no',
      ],
    });
  });
});

const anyRules = fc.record({
  stabilizationWindowSeconds: fc.integer({ min: 0, max: 600 }),
  selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
  policies: fc.array(
    fc.record({
      type: fc.constantFrom('Pods', 'Percent'),
      value: fc.integer({ min: 1, max: 200 }),
      periodSeconds: fc.integer({ min: 1, max: 120 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

const anyWorld = fc
  .record({
    min: fc.integer({ min: 1, max: 8 }),
    more: fc.integer({ min: 0, max: 20 }),
    current: fc.integer({ min: 0, max: 30 }),
    percent: fc.integer({ min: 0, max: 500 }),
    measured: fc.integer({ min: 0, max: 30 }),
    behavior: fc.option(fc.record({ scaleUp: anyRules, scaleDown: anyRules }), { nil: undefined }),
    ages: fc.array(fc.record({ replicas: fc.integer({ min: 0, max: 30 }), age: fc.integer({ min: 0, max: 600_000 }) })),
    changes: fc.array(
      fc.record({ change: fc.integer({ min: 1, max: 10 }), age: fc.integer({ min: 0, max: 150_000 }) }),
    ),
  })
  .map(({ min, more, current, percent, measured, behavior, ages, changes }): World => {
    const recommendations = ages.map(({ replicas, age }) => ({ replicas, at: NOW - age }));
    const events = changes.map(({ change, age }) => ({ change, at: NOW - age }));
    return {
      min,
      max: min + more,
      current,
      readings: [full(Math.min(measured, current), percent)],
      ...(behavior === undefined ? {} : { behavior }),
      memory: { recommendations, ups: events, downs: events },
    };
  });

/** The world after its plan was carried out. The usage stays the same when nothing was scaled, and is at the target otherwise. */
function after(before: World): World {
  const actions = plan(before);
  const [rescale] = actionsOf(actions, 'rescale');
  const [update] = actionsOf(actions, 'updateStatus');
  const memory = actionsOf(actions, 'remember').at(-1)?.memory ?? before.memory ?? NO_MEMORY;
  const current = rescale?.replicas ?? before.current ?? 0;
  return {
    ...before,
    current,
    memory,
    ...(update === undefined ? {} : { status: update.status }),
    ...(rescale === undefined ? {} : { readings: [full(current, 50)] }),
  };
}

const SEED = { seed: 11, numRuns: 500 };

describe('every plan', () => {
  it('keeps the count within its bounds', () => {
    fc.assert(
      fc.property(anyWorld, (of) => {
        const { min = 1, max = 1, current = 0 } = of;
        const [rescale] = actionsOf(plan(of), 'rescale');
        if (rescale === undefined) return;
        expect(rescale.replicas).toBeGreaterThanOrEqual(min);
        expect(rescale.replicas).toBeLessThanOrEqual(max);
        expect(rescale.replicas).not.toBe(current);
      }),
      SEED,
    );
  });

  it('changes no more than the policies allow within their periods', () => {
    fc.assert(
      fc.property(anyWorld, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 120 }), (of, value, seconds) => {
        const { min = 1, max = 1, current = 0, memory = NO_MEMORY } = of;
        fc.pre(current >= min && current <= max);
        const rules = { selectPolicy: 'Max', policies: [{ type: 'Pods', value, periodSeconds: seconds }] };
        const [rescale] = actionsOf(plan({ ...of, behavior: { scaleUp: rules, scaleDown: rules } }), 'rescale');
        const within = (events: Memory['ups']) =>
          events.filter(({ at }) => at > NOW - seconds * 1000).reduce((sum, { change }) => sum + change, 0);
        const start = current - within(memory.ups) + within(memory.downs);
        const replicas = rescale?.replicas ?? current;
        expect(replicas).toBeLessThanOrEqual(Math.max(current, start + value));
        expect(replicas).toBeGreaterThanOrEqual(Math.min(current, start - value));
      }),
      SEED,
    );
  });

  const writesOf = (of: World) => plan(of).filter(({ kind }) => kind === 'rescale' || kind === 'updateStatus');

  it('writes nothing when it is made again, in a few steps where the first was limited', () => {
    fc.assert(
      fc.property(anyWorld, (of) => {
        let settled = after(of);
        if (actionsOf(plan(of), 'rescale').length === 0) expect(writesOf(settled)).toEqual([]);
        for (let step = 0; step < 12 && writesOf(settled).length > 0; step++) settled = after(settled);
        expect(writesOf(settled)).toEqual([]);
        expect(writesOf(after(settled))).toEqual([]);
      }),
      SEED,
    );
  });

  it('reads metrics only for a count within its bounds', () => {
    fc.assert(
      fc.property(anyWorld, (of) => {
        const observed = world(of);
        if (observed.target.kind === 'failed') return;
        const { min = 1, max = 1, current = 0 } = of;
        expect(needsMetrics(observed.autoscaler, observed.target.scale)).toBe(current >= min && current <= max);
      }),
      SEED,
    );
  });
});

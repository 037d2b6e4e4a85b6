import { formatTime } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type PodMetrics, resourceMetrics } from './metric-answers.ts';
import {
  type Calculation,
  type Population,
  replicasForMean,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  sumOf,
} from './replica-calculator.ts';
import cases from './replica-calculator.cases.json' with { type: 'json' };

/** The tables of Kubernetes' replica_calculator_test.go: pods, their measurements, and the resulting number of replicas. */
interface Case {
  readonly name: string;
  readonly current: number;
  readonly expected?: number;
  readonly error?: string;
  readonly tolerances?: Population['tolerances'];
  readonly container?: string;
  readonly readiness?: readonly string[];
  readonly started?: readonly string[];
  readonly phases?: readonly string[];
  readonly deleting?: readonly boolean[];
  readonly resource?: {
    readonly name: string;
    readonly requests: readonly string[];
    readonly levels: readonly (readonly number[])[];
    readonly podNames?: readonly string[];
    readonly target: number;
    readonly utilization?: number;
    readonly usage?: number;
  };
  readonly metric?: {
    readonly type: string;
    readonly levels: readonly number[];
    readonly target: number;
    readonly usage?: number;
  };
}

const NOW = Date.parse('2026-01-01T00:00:00Z');
const NEVER = '0001-01-01T00:00:00Z';
/** A pod that has just started, and one whose CPU usage is typical. */
const STARTED: Readonly<Record<string, string>> = { hot: formatTime(NOW), cool: formatTime(NOW - 600_000) };

function podsOf({ current, phases, readiness, started, deleting, resource }: Case): readonly Pod[] {
  const count = Math.max(current, phases?.length ?? 0);
  return Array.from({ length: count }, (_, i): Pod => {
    const request = resource?.requests[i];
    const resources = request === undefined ? {} : { requests: { [resource?.name ?? '']: request } };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `pod-${i}`, ...(deleting?.[i] === true ? { deletionTimestamp: formatTime(NOW) } : {}) },
      spec: { containers: ['container1', 'container2'].map((name) => ({ name, image: 'i', resources })) },
      status: {
        phase: phases?.[i] ?? 'Running',
        startTime: STARTED[started?.[i] ?? ''] ?? NEVER,
        conditions: [{ type: 'Ready', status: readiness?.[i] ?? 'True' }],
      },
    };
  });
}

function metricsOf({ resource, container }: Case): PodMetrics {
  const items = (resource?.levels ?? []).map((levels, i) => ({
    metadata: { name: resource?.podNames?.[i] ?? `pod-${i}` },
    timestamp: NEVER,
    window: '1m0s',
    containers: levels.map((level, j) => ({
      name: `container${j + 1}`,
      usage: { [resource?.name ?? '']: `${level}m` },
    })),
  }));
  return resourceMetrics({ items }, resource?.name ?? '', container ?? '');
}

function calculate(one: Case): Calculation {
  const population = {
    namespace: 'n',
    pods: podsOf(one),
    specReplicas: one.current,
    statusReplicas: one.current,
    tolerances: one.tolerances ?? { down: 0.1, up: 0.1 },
    now: NOW,
  };
  const { resource, metric, container = '' } = one;
  if (resource !== undefined)
    return replicasForUtilization(population, metricsOf(one), { ...resource, resource: resource.name, container });
  const { type = '', levels = [], target = 0 } = metric ?? {};
  const window = { at: Date.parse(NEVER), windowMs: 60_000 };
  const byPod = new Map(levels.map((value, i) => [`pod-${i}`, { value, ...window }]));
  if (type === 'podMetric') return replicasForMean(population, byPod, { resource: '', target });
  const perPod = type.includes('PerPod');
  return perPod
    ? replicasForShare(population, sumOf(levels), target)
    : replicasForValue(population, sumOf(levels), target);
}

describe('the share of each replica', () => {
  const population = { namespace: 'n', pods: [], specReplicas: 3, tolerances: { up: 0.1, down: 0.1 }, now: 0 };

  it.each([
    [5000, 5, 2 ** 63],
    [0, 0, 0],
  ])('of %s thousandths is a number where the target has no replicas yet', (usage, replicas, share) => {
    expect(replicasForShare({ ...population, statusReplicas: 0 }, usage, 1000)).toEqual({ replicas, usage: share });
  });
});

describe('the count of replicas', () => {
  it.each(cases as readonly Case[])('$name', (one) => {
    if (one.error !== undefined) {
      expect(() => calculate(one)).toThrow(one.error);
      return;
    }
    const { replicas, utilization, usage } = calculate(one);
    expect({ replicas, utilization, usage }).toEqual({
      replicas: one.expected,
      utilization: one.resource?.utilization,
      usage: one.resource?.usage ?? one.metric?.usage,
    });
  });
});

import { readFileSync } from 'node:fs';
import { formatTime } from '@gantry/base';
import type { Pod, PodDisruptionBudget, PodDisruptionBudgetSpec } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ControllerScale } from './expected-pods.ts';
import { type Action, lastingOf, type ObservedBudget, planBudget, planStaleCondition } from './plan.ts';
import { printSelector, reportId } from './reports.ts';

const NOW = Date.parse('2030-01-01T00:10:00Z');

interface Case {
  readonly title: string;
  readonly spec: PodDisruptionBudgetSpec;
  /** `<uid of the controller, or "bare"> [ready] [deleted]`. */
  readonly pods: readonly string[];
  readonly scales?: Readonly<Record<string, number | string | readonly [string, number]>>;
  /** The counts of the status, in the order healthy, desired, allowed, expected. */
  readonly counts?: readonly number[];
  readonly reason?: string;
  readonly error?: string;
  readonly reports?: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];

function pod(text: string, index: number): Pod {
  const [controller = '', ...words] = text.split(' ');
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: controller, uid: controller, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${index}`,
      namespace: 'n',
      uid: `pod-${index}`,
      labels: { app: 'a' },
      ...(controller === 'bare' ? {} : { ownerReferences: [owner] }),
      ...(words.includes('deleted') ? { deletionTimestamp: formatTime(NOW) } : {}),
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: words.includes('ready') ? 'True' : 'False' }] },
  };
}

function budget(
  spec: PodDisruptionBudgetSpec,
  status: PodDisruptionBudget['status'] = {},
  name = 'keep',
): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'n', uid: name, generation: 2 },
    spec: { selector: { matchLabels: { app: 'a' } }, ...spec },
    status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0, ...status },
  };
}

function scalesOf(scales: Case['scales'] = {}): ReadonlyMap<string, ControllerScale> {
  const entries = Object.entries(scales).map(([uid, scale]): [string, ControllerScale] => {
    if (typeof scale === 'string') return [uid, { error: scale }];
    return typeof scale === 'number' ? [uid, { uid, replicas: scale }] : [uid, { uid: scale[0], replicas: scale[1] }];
  });
  return new Map(entries);
}

function observe(of: PodDisruptionBudget, pods: readonly Pod[], scales: Case['scales'] = {}): ObservedBudget {
  return { budget: of, pods, others: [], scales: scalesOf(scales), reported: new Set() };
}

const statusIn = (actions: readonly Action[]) =>
  actions.flatMap((action) => (action.kind === 'updateStatus' ? [action.status] : []))[0];
const reasonsIn = (actions: readonly Action[]) =>
  actions.flatMap((action) => (action.kind === 'report' ? [action.reason] : []));

/** What is observed after the actions were carried out. */
function after(observed: ObservedBudget, actions: readonly Action[]): ObservedBudget {
  const status = statusIn(actions) ?? observed.budget.status ?? {};
  const reported = new Set(lastingOf(observed).map(reportId));
  return { ...observed, budget: { ...observed.budget, status }, reported };
}

describe('the status of a budget', () => {
  it.each(CASES)('$title', ({ spec, pods, scales, counts, reason, error, reports = [] }) => {
    const observed = observe(budget(spec), pods.map(pod), scales);
    const { actions } = planBudget(observed, NOW);
    expect(reasonsIn(actions)).toEqual(reports);
    const status = statusIn(actions);
    if (counts === undefined) {
      expect(status).toMatchObject({ disruptionsAllowed: 0 });
      expect(status?.observedGeneration).toBeUndefined();
      expect(status?.conditions).toMatchObject([{ status: 'False', reason: 'SyncFailed', message: error }]);
    } else {
      const { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods, observedGeneration } = status ?? {};
      expect([currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods]).toEqual(counts);
      expect(observedGeneration).toBe(2);
      const is = reason === 'SufficientPods' ? 'True' : 'False';
      expect(status?.conditions).toEqual([
        {
          type: 'DisruptionAllowed',
          status: is,
          reason,
          message: '',
          observedGeneration: 2,
          lastTransitionTime: formatTime(NOW),
        },
      ]);
    }
    expect(planBudget(after(observed, actions), NOW + 1000).actions).toEqual([]);
  });

  it('is right after any changes, and planned twice gives nothing', () => {
    const words = fc.constantFrom('bare', 'bare ready', 'a ready', 'a', 'b ready', 'b ready deleted');
    const spec = fc.oneof(
      fc.record({ minAvailable: fc.oneof(fc.nat(6), fc.constantFrom('0%', '50%', '100%')) }),
      fc.record({ maxUnavailable: fc.oneof(fc.nat(6), fc.constantFrom('0%', '34%', '100%')) }),
    );
    const step = fc.record({ pods: fc.array(words, { maxLength: 6 }), spec, a: fc.nat(5), b: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
        let status: PodDisruptionBudget['status'] = {};
        for (const { pods, spec: wanted, a, b } of steps) {
          const observed = observe(budget(wanted, status), pods.map(pod), { a, b });
          const { actions } = planBudget(observed, NOW);
          const next = after(observed, actions);
          expect(planBudget(next, NOW).actions).toEqual([]);
          status = next.budget.status ?? {};
          const { currentHealthy = 0, desiredHealthy = 0, disruptionsAllowed = 0, expectedPods = 0 } = status;
          expect(currentHealthy).toBe(pods.filter((one) => one.endsWith('ready')).length);
          expect(disruptionsAllowed).toBe(expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0);
        }
      }),
      { seed: 11, numRuns: 200 },
    );
  });

  it('says no more that counting has failed once it succeeds, though the counts are as before', () => {
    const [spec, pods] = [{ maxUnavailable: 0 }, [pod('a ready', 0)]];
    const counted = observe(budget(spec), pods, { a: 1 });
    const failed = { ...after(counted, planBudget(counted, NOW).actions), scales: scalesOf({ a: 'not found' }) };
    const { actions } = planBudget(failed, NOW);
    expect(statusIn(actions)?.conditions).toMatchObject([{ status: 'False', reason: 'SyncFailed' }]);
    const again = planBudget({ ...after(failed, actions), scales: counted.scales }, NOW);
    expect(statusIn(again.actions)?.conditions).toMatchObject([
      { status: 'False', reason: 'InsufficientPods', message: '' },
    ]);
  });

  it('keeps the time of a condition whose status stays', () => {
    const conditions = [
      { type: 'Other', status: 'True', reason: 'x', message: '', lastTransitionTime: 'o' },
      { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '', lastTransitionTime: 't' },
    ];
    const observed = observe(budget({ minAvailable: 0 }, { conditions }), [pod('bare ready', 0)]);
    expect(statusIn(planBudget(observed, NOW).actions)?.conditions).toMatchObject([
      { type: 'Other' },
      { type: 'DisruptionAllowed', status: 'True', lastTransitionTime: 't' },
    ]);
  });
});

describe('pods that evictions announced', () => {
  const announced = { 'pod-0': formatTime(NOW - 60_000), 'pod-1': formatTime(NOW - 130_000), gone: formatTime(NOW) };

  it('count as gone for two minutes; then they are reported and count again', () => {
    const pods = ['bare ready', 'bare ready', 'bare ready'].map(pod);
    const observed = observe(budget({ minAvailable: 1 }, { disruptedPods: announced }), pods);
    const plan = planBudget(observed, NOW);
    expect(statusIn(plan.actions)).toMatchObject({ currentHealthy: 2, disruptedPods: { 'pod-0': announced['pod-0'] } });
    expect(plan.requeueAt).toBe(NOW + 60_000);
    expect(plan.actions.filter(({ kind }) => kind === 'report')).toEqual([
      {
        kind: 'report',
        about: pods[1],
        type: 'Warning',
        reason: 'NotDeleted',
        message: "Pod was expected by PDB n/keep to be deleted but it wasn't",
      },
    ]);
    const later = planBudget(after(observed, plan.actions), NOW + 60_000);
    expect(statusIn(later.actions)).toMatchObject({ currentHealthy: 3 });
    expect(statusIn(later.actions)).not.toHaveProperty('disruptedPods');
  });

  it('are dropped once they are being deleted', () => {
    const observed = observe(budget({ minAvailable: 1 }, { disruptedPods: announced }), [pod('bare ready deleted', 0)]);
    expect(statusIn(planBudget(observed, NOW).actions)).not.toHaveProperty('disruptedPods');
  });
});

describe('Events', () => {
  it('name the budget that is chosen for a pod of several, once', () => {
    const observed = observe(budget({ minAvailable: 0 }), [pod('bare ready', 0)]);
    const later = { ...observed, others: [budget({}, {}, 'later')] };
    const [first] = planBudget(later, NOW).actions;
    expect(first).toMatchObject({
      type: 'Warning',
      reason: 'MultiplePodDisruptionBudgets',
      message: 'Pod "n"/"pod-0" matches multiple PodDisruptionBudgets.  Chose "keep" arbitrarily.',
    });
    expect(reasonsIn(planBudget({ ...observed, others: [budget({}, {}, 'a')] }, NOW).actions)).toEqual([]);
  });

  it('do not compare each pod with each budget, where many budgets select the same pods', () => {
    let looks = 0;
    const pods = Array.from({ length: 100 }, (_, i) => {
      const one = pod('bare ready', i);
      const { labels = {} } = one.metadata;
      Object.defineProperty(one.metadata, 'labels', {
        get: () => {
          looks++;
          return labels;
        },
      });
      return one;
    });
    const others = Array.from({ length: 100 }, (_, i) => budget({}, {}, `other-${i}`));
    planBudget({ ...observe(budget({ minAvailable: 0 }), pods), others }, NOW);
    expect(looks).toBeLessThan(10 * pods.length);
  });

  it('print a selector as Go does', () => {
    const matchExpressions = [{ key: 'tier', operator: 'In', values: ['x', 'y'] }];
    expect(printSelector({ matchLabels: { b: '2', a: '1' }, matchExpressions })).toBe(
      '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{' +
        'LabelSelectorRequirement{Key:tier,Operator:In,Values:[x y],},},}',
    );
    expect(printSelector(undefined)).toBe('nil');
  });
});

describe('the condition DisruptionTarget of a pod', () => {
  const disrupted = (change: object = {}, rest: Partial<Pod> = {}): Pod => {
    const base = pod('bare ready', 0);
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', ...change };
    const lastTransitionTime = formatTime(NOW - 120_000);
    return {
      ...base,
      ...rest,
      status: { ...base.status, ...rest.status, conditions: [{ lastTransitionTime, ...target }] },
    };
  };

  it('is set to False when the pod was not deleted within two minutes', () => {
    const fresh = planStaleCondition(disrupted({ lastTransitionTime: formatTime(NOW - 119_000) }), NOW);
    expect(fresh).toEqual({ actions: [], requeueAt: NOW + 1000 });
    expect(planStaleCondition(disrupted(), NOW).actions).toMatchObject([
      { condition: { type: 'DisruptionTarget', status: 'False', reason: null, message: null } },
    ]);
  });

  it('is of the generation of the pod, whatever had none', () => {
    const { metadata } = pod('bare ready', 0);
    const of = disrupted({}, { metadata: { ...metadata, generation: 3 } });
    expect(planStaleCondition(of, NOW).actions).toMatchObject([{ condition: { observedGeneration: 3 } }]);
  });

  it.each([
    ['the agent set it', disrupted({ reason: 'TerminationByKubelet' })],
    ['it is False', disrupted({ status: 'False' })],
    ['the pod has ended', disrupted({}, { status: { phase: 'Failed' } })],
    ['the pod is being deleted', disrupted({}, { metadata: pod('bare deleted', 0).metadata })],
  ])('stays when %s', (_, of) => {
    expect(planStaleCondition(of, NOW)).toEqual({ actions: [] });
  });
});

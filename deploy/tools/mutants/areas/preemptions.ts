import type { Mutant } from '../mutant.ts';

const SCHEDULER = 'services/scheduler/src';
const PLAN_TESTS = [`${SCHEDULER}/plan-preemption.test.ts`];
const SHELL_TESTS = [`${SCHEDULER}/preemption-work.test.ts`];

/** Pods that the scheduler evicts for others. */
export const PREEMPTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'a pod takes the place of any other',
    file: `${SCHEDULER}/preemption/select-victims.ts`,
    text: 'return other.priority < pod.priority;',
    replacement: 'return true;',
    tests: PLAN_TESTS,
    protects: 'pods from those of their own priority and below',
  },
  {
    name: 'pods go though they fit beside the one that preempts',
    file: `${SCHEDULER}/preemption/select-victims.ts`,
    text: 'if (refusalOf(pod, trial.node, nominated, filters) === undefined) return false;',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'pods of low priority that are in no way of the one that preempts',
  },
  {
    name: 'budgets are violated without need',
    file: `${SCHEDULER}/preemption/select-victims.ts`,
    text: 'const violating = budgets.violating(staying);',
    replacement: 'const violating = new Set<PodInfo>();',
    tests: PLAN_TESTS,
    protects: 'pods whose PodDisruptionBudget allows no disruption, where other victims do',
  },
  {
    name: 'several pods of a cycle use up the same budget',
    file: `${SCHEDULER}/plan.ts`,
    text: 'this.#budgets?.spend(victims);',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'a budget from several pods that preempt at once',
  },
  {
    name: 'a pod that waits for its victims preempts again',
    file: `${SCHEDULER}/preemption/plan.ts`,
    text: 'if (mayPreempt(pod, other) && isLeaving(other) && isVictim) return true;',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'further pods while the victims of a pod terminate',
  },
  {
    name: 'preemptionPolicy is ignored',
    file: `${SCHEDULER}/preemption/plan.ts`,
    text: "if (pod.pod.spec?.preemptionPolicy === 'Never') return { kind: 'ineligible', reason: BY_POLICY };",
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'pods from those whose priority class does not preempt',
  },
  {
    name: 'room is not kept for nominated pods of the same priority',
    file: `${SCHEDULER}/preemption/nominations.ts`,
    text: 'key !== pod.key && priority >= pod.priority',
    replacement: 'key !== pod.key && priority > pod.priority',
    tests: PLAN_TESTS,
    protects: 'pods that were evicted for one that another one overtakes',
  },
  {
    name: 'a cycle plans preemption for all pods',
    file: `${SCHEDULER}/plan.ts`,
    text: 'this.#tried >= MAX_TRIED_VICTIMS || ',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'the event loop from many pods that find no victims in a large cluster',
  },
  {
    name: 'pods are evicted for one whose nomination is not written',
    file: `${SCHEDULER}/scheduler.ts`,
    text: 'preempting.filter((refusal) => !unwritten.has(refusal)),',
    replacement: 'preempting,',
    tests: SHELL_TESTS,
    protects: 'pods from being evicted for one that is gone',
  },
  {
    name: 'victims are deleted without a mark',
    file: `${SCHEDULER}/preemption-work.ts`,
    text: 'await evict(options, marked, signal)',
    replacement: 'await evict(options, bound, signal)',
    tests: SHELL_TESTS,
    protects: 'Jobs that do not count disrupted pods as failures',
  },
  {
    name: 'a victim is deleted by its name',
    file: `${SCHEDULER}/writes.ts`,
    text: 'options: { preconditions: { uid } }',
    replacement: 'options: { preconditions: uid === "" ? { uid } : {} }',
    tests: SHELL_TESTS,
    protects: 'a pod that has the name of a victim that is gone',
  },
  {
    name: 'a victim counts as it was until the cache shows its end',
    file: `${SCHEDULER}/preemption-work.ts`,
    text: 'view.written({ ...pod, metadata: { deletionTimestamp: formatTime(clock.now()), ...metadata } });',
    replacement: 'void pod; void metadata; void clock;',
    tests: SHELL_TESTS,
    protects: 'further pods while the cache does not show the end of the victims',
  },
  {
    name: 'the cache goes back behind an own write',
    file: `${SCHEDULER}/cluster-view.ts`,
    text: 'reported !== undefined && isNewer(written, reported))',
    replacement: 'reported !== undefined && isNewer(reported, written))',
    tests: SHELL_TESTS,
    protects: 'the room that was made for a pod, while the cache is late',
  },
];

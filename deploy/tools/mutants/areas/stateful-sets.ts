import type { Mutant } from '../mutant.ts';

const CONTROLLERS = 'services/controller-manager/src/controllers';
const SETS = `${CONTROLLERS}/stateful-set`;
const REVISIONS = `${CONTROLLERS}/revisions`;
const PLAN_TESTS = [`${SETS}/plan.test.ts`];

/** StatefulSets: one pod for each identity, its claims, and the history of both. */
export const STATEFUL_SET_MUTANTS: readonly Mutant[] = [
  {
    name: 'a pod is deleted by its name alone',
    file: `${SETS}/pod-writes.shell.ts`,
    text: 'client.delete(PODS, keyOf(pod), { uid }, this.#signal)',
    replacement: 'client.delete(PODS, keyOf(pod), {}, this.#signal)',
    tests: [`${SETS}/pod-writes.test.ts`],
    protects: 'the pod that has the name by now',
  },
  {
    name: 'a set adopts though the store may not have it any more',
    file: `${SETS}/controller.ts`,
    text: 'if (plan.actions.some(isAdoption) && !(await mayAdopt(context.client, STATEFUL_SETS, set, signal))) return {};',
    replacement: '',
    tests: [`${SETS}/controller.test.ts`],
    protects: 'pods that were to outlive their set',
  },
  {
    name: 'an ordered set does not wait for the pods before one',
    file: `${SETS}/pods.ts`,
    text: "if (isOrdered && step.verdict !== 'go on') return { actions, verdict: step.verdict };",
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'applications whose members must come and go one at a time',
  },
  {
    name: 'a pod is made with a claim that is being deleted',
    file: `${SETS}/pods.ts`,
    text: 'if (terminating.length > 0) {',
    replacement: 'if (terminating.length < 0) {',
    tests: PLAN_TESTS,
    protects: 'the data of a pod: its claim would go from under it',
  },
  {
    name: 'a pod is made with a claim that goes with an earlier pod',
    file: `${SETS}/pods.ts`,
    text: "if (isStale) return { actions: [], verdict: 'wait' };",
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'the data of a pod: the garbage collector is about to delete its claim',
  },
  {
    name: 'a set takes over the claim of an earlier set of its name',
    file: `${SETS}/claim-owners.ts`,
    text: 'if (isStale(claim, set) || isStale(claim, pod)) return undefined;',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'claims whose deletion was decided before',
  },
  {
    name: 'a revision of another template counts as the one to create',
    file: `${REVISIONS}/writes.shell.ts`,
    text: 'return equalJson(existing.data, revision.data) ? existing : undefined;',
    replacement: 'return existing;',
    tests: [`${REVISIONS}/revisions.test.ts`],
    protects: 'pods that would be labelled with a template that is not theirs',
  },
  {
    name: 'a live revision is deleted beyond the limit',
    file: `${REVISIONS}/history.ts`,
    text: 'sortRevisions(revisions).filter((revision) => !isLive(revision))',
    replacement: 'sortRevisions(revisions)',
    tests: [`${REVISIONS}/revisions.test.ts`],
    protects: 'templates that pods still run',
  },
];

import type { Mutant } from '../mutant.ts';

const SCHEDULER = 'services/scheduler/src';
const FILTER = `${SCHEDULER}/plugins/filter/inter-pod-affinity.ts`;
const FILTER_TESTS = [`${SCHEDULER}/plugins/filter/inter-pod-affinity.test.ts`];

/** Pods that have to be near each other, or apart. */
export const AFFINITY_MUTANTS: readonly Mutant[] = [
  {
    name: 'pods of one cycle do not see the terms of each other',
    file: `${SCHEDULER}/plan.ts`,
    text: 'this.#affinity.assign(pod, node);',
    replacement: '',
    tests: FILTER_TESTS,
    protects: 'replicas from the loss of the one node that all of them got at once',
  },
  {
    name: 'the anti-affinity of nominated pods does not count',
    file: FILTER,
    text: 'return isNear || added.some(({ affinity }) => affinity?.forbidden.some(forbids) === true);',
    replacement: 'return isNear;',
    tests: FILTER_TESTS,
    protects: 'the place of a pod that victims were evicted for',
  },
  {
    name: 'preemption is tried against affinity',
    file: FILTER,
    text: 'return neighbours === undefined || meetsAffinity(pod, neighbours, node, neighbours.differenceOn(node));',
    replacement: 'return pod !== undefined && node !== undefined;',
    tests: FILTER_TESTS,
    protects: 'pods from an eviction that helps none',
  },
  {
    name: 'a pod goes without those that it wants while they are elsewhere',
    file: FILTER,
    text: 'isAnywhere ||= near > 0 || hasOther(byValue, domain);',
    replacement: 'isAnywhere ||= near > 0;',
    tests: FILTER_TESTS,
    protects: 'pods from being away from those whose data they need',
  },
  {
    name: 'terms of different namespaces are one',
    file: `${SCHEDULER}/framework/pod-affinity.ts`,
    text: '[topologyKey, [...namespaces].sort(), ',
    replacement: '[topologyKey, ',
    tests: [`${SCHEDULER}/framework/pod-affinity.test.ts`],
    protects: 'pods from the terms of another namespace',
  },
  {
    name: 'a placed pod wakes none that wants it',
    file: `${SCHEDULER}/cluster-view.ts`,
    text: "if (takes && !(took && isSame)) this.#move({ kind: 'pod-placed', pod: now });",
    replacement: '',
    tests: [`${SCHEDULER}/affinity-work.test.ts`],
    protects: 'a pod from waiting for minutes though the one that it wants is there',
  },
  {
    name: 'a cycle compares all pods with the terms of all that wait',
    file: `${SCHEDULER}/plan.ts`,
    text: 'this.#affinity.compared + this.#spread.compared',
    replacement: 'this.#spread.compared',
    tests: [`${SCHEDULER}/plan-affinity.test.ts`],
    protects: 'the event loop from many pods with many terms in a large cluster',
  },
  {
    name: 'a cycle compares all pods with the constraints of all that wait',
    file: `${SCHEDULER}/plan.ts`,
    text: 'this.#affinity.compared + this.#spread.compared',
    replacement: 'this.#affinity.compared',
    tests: [`${SCHEDULER}/plan-spread.test.ts`],
    protects: 'the event loop from many pods with many constraints in a large cluster',
  },
  {
    name: 'pods that terminate count for the spread of others',
    file: `${SCHEDULER}/framework/topology-spread.ts`,
    text: ' || metadata.deletionTimestamp !== undefined',
    replacement: '',
    tests: [`${SCHEDULER}/plugins/filter/topology-spread.test.ts`],
    protects: 'replacements from being kept away by the pods that they replace',
  },
  {
    name: 'pods that are assigned in a cycle do not count for the spread of others in it',
    file: `${SCHEDULER}/plan.ts`,
    text: '    this.#spread.assign(pod, node);\n',
    replacement: '',
    tests: [`${SCHEDULER}/plan-spread.test.ts`],
    protects: 'pods that are created together from being on one node',
  },
  {
    name: 'preemption forgets which pods of a node are taken away for the spread',
    file: `${SCHEDULER}/plugins/filter/topology-spread.ts`,
    text: '(counted ?? 0) + (more.get(count) ?? 0)',
    replacement: '(counted ?? 0)',
    tests: [`${SCHEDULER}/plugins/filter/topology-spread.test.ts`],
    protects: 'pods of high priority from waiting for room that others could make',
  },
  {
    name: 'a pod has as many terms as it likes',
    file: `${SCHEDULER}/framework/pod-affinity.ts`,
    text: 'if (count > MAX_TERMS)',
    replacement: 'if (count < 0)',
    tests: [`${SCHEDULER}/plan-affinity.test.ts`],
    protects: 'the event loop from one pod with very many terms',
  },
];

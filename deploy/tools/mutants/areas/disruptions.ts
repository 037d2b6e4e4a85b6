import type { Mutant } from '../mutant.ts';

const CONTROLLERS = 'services/controller-manager/src/controllers';
const BUDGETS = `${CONTROLLERS}/disruption`;
const SHARED = `${CONTROLLERS}/service-endpoints`;
const SLICES = `${CONTROLLERS}/endpoint-slice`;
const ENDPOINTS = `${CONTROLLERS}/endpoints`;
const EVICTION = 'services/apiserver/src/registry/verbs';

/** Disruption budgets and evictions, and the endpoints of Services. */
export const DISRUPTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'an eviction stores its disruption over that of another',
    file: `${EVICTION}/evict.ts`,
    text: 'expected: entry.resourceVersion,',
    replacement: 'expected: undefined as never,',
    tests: [`${EVICTION}/evict.test.ts`],
    protects: 'a disruption budget against evictions at the same time',
  },
  {
    name: 'a budget that expects no pods allows disruptions',
    file: `${BUDGETS}/status.ts`,
    text: 'expectedPods <= 0 ? 0 : ',
    replacement: '',
    tests: [`${BUDGETS}/plan.test.ts`],
    protects: 'the first pods of a budget',
  },
  {
    name: 'pods that are being deleted count as healthy',
    file: `${BUDGETS}/status.ts`,
    text: 'pod.metadata.deletionTimestamp === undefined &&',
    replacement: '',
    tests: [`${BUDGETS}/plan.test.ts`],
    protects: 'a disruption budget while its pods end',
  },
  {
    name: 'a failure to count stays in the condition when the counts are as before',
    file: `${BUDGETS}/status.ts`,
    text: ' && one.reason === reason',
    replacement: '',
    tests: [`${BUDGETS}/plan.test.ts`],
    protects: 'evictions after a budget could not be counted for a while',
  },
  {
    name: 'a scale that cannot be read is not read again',
    file: `${BUDGETS}/controller.ts`,
    text: 'if (failed !== undefined) throw failed.error;',
    replacement: '',
    tests: [`${BUDGETS}/controller.test.ts`],
    protects: 'evictions after a scale could not be read for a while',
  },
  {
    name: 'every change of a pod counts its budgets again',
    file: `${BUDGETS}/budget-keys.ts`,
    text: 'isReady(pod) === isReady(old) &&',
    replacement: 'false &&',
    tests: [`${BUDGETS}/budget-keys.test.ts`],
    protects: 'the cost of a change of a pod',
  },
  {
    name: 'an address that is both ready and not is ready',
    file: `${SHARED}/subsets.ts`,
    text: 'if (states.get(id) !== false) states',
    replacement: 'states',
    tests: [`${SHARED}/service-endpoints.test.ts`],
    protects: 'clients of a Service from a pod that is not ready',
  },
  {
    name: 'each pod has a list of ports of its own',
    file: `${SHARED}/service-ports.ts`,
    text: 'known.get(key) ?? ports',
    replacement: 'ports',
    tests: [`${SHARED}/many-ports.test.ts`],
    protects: 'the controller-manager from a Service of thousands of ports',
  },
  {
    name: 'slices are filled in any order',
    file: `${SHARED}/packing.ts`,
    text: 'changed.sort(',
    replacement: '[].sort(',
    tests: [`${SHARED}/service-endpoints.test.ts`],
    protects: 'few slices',
  },
  {
    name: 'own writes of slices queue their Service',
    file: `${SHARED}/slices.ts`,
    text: 'if (slice !== undefined && isOwnWrite(slice)) return [];',
    replacement: '',
    tests: [`${SHARED}/service-endpoints.test.ts`],
    protects: 'the cost of a change of a pod',
  },
  {
    name: 'a slice that could not be written is forgotten',
    file: `${SHARED}/slice-writes.shell.ts`,
    text: 'if (failed !== undefined) throw failed;',
    replacement: '',
    tests: [`${SLICES}/controller.test.ts`],
    protects: 'the endpoints of a Service after a refused write',
  },
  {
    name: 'pods wait for ever for the zone of a node that comes later',
    file: `${SLICES}/controller.ts`,
    text: '(old !== undefined && zoneOf(node) === zoneOf(old))',
    replacement: 'true',
    tests: [`${SLICES}/controller.test.ts`],
    protects: 'the endpoints of pods that are seen before their node',
  },
  {
    name: 'Endpoints that another writer changed are written back',
    file: `${ENDPOINTS}/controller.ts`,
    text: 'endpoints !== undefined && old !== undefined ? [] :',
    replacement: '',
    tests: [`${ENDPOINTS}/controller.test.ts`],
    protects: 'what Kubernetes lets stand',
  },
];

import type { Mutant } from '../mutant.ts';

const RULES = 'services/proxy/src/rules';
const PLAN_TESTS = [`${RULES}/plan-service.test.ts`];

/** Rules of Services. */
export const SERVICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a host port takes the loopback of the host',
    file: `${RULES}/table.ts`,
    text: 'ip daddr != 127.0.0.0/8 ip daddr != @node-addresses',
    replacement: 'ip daddr != @node-addresses',
    tests: [`${RULES}/table.test.ts`],
    protects: 'programs of the host, and Ingresses, which are served on 127.0.0.1',
  },
  {
    name: 'two parts of the range of pods overlap',
    file: 'packages/objects/src/pod-addresses.ts',
    text: 'pods: sixteenths(4, 9)',
    replacement: 'pods: sixteenths(4, 10)',
    tests: ['packages/objects/src/pod-addresses.test.ts'],
    protects: 'pods of which the kernel and the engine each think that they alone have the address',
  },
  {
    name: 'Services lead to closed networks',
    file: `${RULES}/endpoints.ts`,
    text: 'if (found === undefined || topology.closedRanges.some((range) => isWithin(range, found.address))) continue;',
    replacement: 'if (found === undefined) continue;',
    tests: PLAN_TESTS,
    protects: 'the control network and the metadata service from Services with endpoints there',
  },
  {
    name: 'a terminating endpoint takes the place of the living one of its address',
    file: `${RULES}/endpoints.ts`,
    text: 'if (!(endpoint.conditions?.terminating ?? false) || !all.has(key)) all.set(key, found);',
    replacement: 'all.set(key, found);',
    tests: PLAN_TESTS,
    protects: 'a pod that was given the address of one that ends',
  },
  {
    name: 'pods of Nodes without an endpoint get those of others',
    file: `${RULES}/plan-service.ts`,
    text: '`${this.#fromPods()} return`, ',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'the internal traffic policy Local',
  },
  {
    name: 'Services take addresses of the control network',
    file: `${RULES}/plan-service.ts`,
    text: 'address !== clusterAddress && !closedRanges.some((range) => isWithin(range, address))',
    replacement: 'address !== clusterAddress',
    tests: PLAN_TESTS,
    protects: 'etcd and the API servers from Services that name their addresses as external ones',
  },
  {
    name: 'what a removed Service shared is removed',
    file: `${RULES}/rule-book.ts`,
    text: 'if (owners > 0) continue;',
    replacement: '',
    tests: [`${RULES}/rule-book.test.ts`],
    protects: 'the other Services with as many endpoints',
  },
  {
    name: 'own transactions count as those of others',
    file: 'services/proxy/src/nft/change-watch.ts',
    text: 'author !== this.#own',
    replacement: 'author.length > 0',
    tests: ['services/proxy/src/nft/change-watch.test.ts'],
    protects: 'the packet filter from being written without end',
  },
  {
    name: 'a refused transaction is forgotten',
    file: 'services/proxy/src/programmer.ts',
    text: 'this.#isReplacing = true;\n      metrics.failures.inc();',
    replacement: 'metrics.failures.inc();',
    tests: ['services/proxy/src/programmer.test.ts'],
    protects: 'rules that the kernel never got',
  },
  {
    name: 'clients that sent before there was an endpoint are not looked for',
    file: `${RULES}/stale-flows.ts`,
    text: "if (target.startsWith('udp ') && old?.size !== endpoints.size) return true;",
    replacement: '',
    tests: [`${RULES}/stale-flows.test.ts`],
    protects: 'clients of UDP that began before their Service had an endpoint: their packets would go nowhere for good',
  },
  {
    name: 'a Service that has lost an endpoint is looked at once',
    file: 'services/proxy/src/flow-cleaner.ts',
    text: "if (address.startsWith('tcp ')) this.#lingering.set(address, { endpoints, untilMs });",
    replacement: '',
    tests: ['services/proxy/src/flow-cleaner.test.ts'],
    protects:
      'clients that connect from the port of a connection which the pod has reset after it had left the Service',
  },
];

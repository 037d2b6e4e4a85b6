import type { Mutant } from '../mutant.ts';

const HOSTS = 'services/proxy/src/hosts';
const TABLE = 'services/proxy/src/rules/table.ts';
const TABLE_TESTS = ['services/proxy/src/rules/table.test.ts'];
const PLAN_TESTS = [`${HOSTS}/plan-hosts.test.ts`];
const AGENTS_TESTS = ['services/proxy/src/policy/hostile-agents.test.ts'];

/** Other Docker hosts: what one of them, or who sends as one, could do to the rest. */
export const HOST_MUTANTS: readonly Mutant[] = [
  {
    name: 'any machine may send packets of the tunnel',
    file: TABLE,
    text: 'ip saddr vmap @tunnel-sources\n    drop',
    replacement: 'ip saddr vmap @tunnel-sources',
    tests: TABLE_TESTS,
    protects: 'pods from packets that no host has sent',
  },
  {
    name: 'a host sends as a pod of another one',
    file: `${HOSTS}/host-rules.ts`,
    text: "accept`, 'drop']",
    replacement: 'accept`]',
    tests: PLAN_TESTS,
    protects: 'policies from packets with addresses of other hosts',
  },
  {
    name: 'packets of the tunnel lead anywhere',
    file: TABLE,
    text: '    ip daddr != ${podCidr} drop\n',
    replacement: '',
    tests: TABLE_TESTS,
    protects: 'networks of the host, and the control network, from other hosts',
  },
  {
    name: 'a pod sends to other hosts with any address',
    file: TABLE,
    text: 'oifname "${device}" ip saddr != ${podCidr} drop',
    replacement: 'oifname "${device}" ip saddr 0.0.0.0 drop',
    tests: TABLE_TESTS,
    protects: 'pods of other hosts from spoofed packets',
  },
  {
    name: 'a host has any range',
    file: `${HOSTS}/plan-hosts.ts`,
    text: 'range.first < clusterRange.first || range.last > clusterRange.last',
    replacement: 'range.first < 0',
    tests: PLAN_TESTS,
    protects: 'networks outside of the cluster from a Node that takes their packets',
  },
  {
    name: 'a host takes the range of another',
    file: `${HOSTS}/plan-hosts.ts`,
    text: 'if (this.#ranges.has(cidr))',
    replacement: "if (cidr === '')",
    tests: PLAN_TESTS,
    protects: 'pods of a host from one that comes later',
  },
  {
    name: 'a host takes the address of another',
    file: `${HOSTS}/plan-hosts.ts`,
    text: 'if (this.#addresses.has(address))',
    replacement: "if (address === '')",
    tests: PLAN_TESTS,
    protects: 'the check of senders, which knows hosts by their addresses',
  },
  {
    name: 'there are hosts without end',
    file: `${HOSTS}/plan-hosts.ts`,
    text: 'if (this.#byEngine.size === MAX_HOSTS)',
    replacement: 'if (this.#byEngine.size < 0)',
    tests: PLAN_TESTS,
    protects: 'the packet filter from chains without end',
  },
  {
    name: "a pod is a peer by another host's address",
    file: 'services/proxy/src/policy/subject.ts',
    text: 'if (!nodes.canHave(member.node, address)) return isolation;',
    replacement: '',
    tests: AGENTS_TESTS,
    protects: 'isolated pods from an agent of another host',
  },
  {
    name: 'a Node of another host has addresses of this one',
    file: 'services/proxy/src/rules/pods-of-nodes.ts',
    text: " || isElsewhere(range ?? '', podRange)",
    replacement: '',
    tests: ['services/proxy/src/rules/pods-of-nodes.test.ts'],
    protects: 'addresses of this host from an agent of another',
  },
];

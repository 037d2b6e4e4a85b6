import type { Mutant } from '../mutant.ts';

const RULES = 'services/ingress/src/rules';
const PLAN_TESTS = [`${RULES}/plan.test.ts`];
const HOST_TESTS = [`${RULES}/hosts.test.ts`];
const PROGRAMMER_TESTS = ['services/ingress/src/programmer.test.ts'];
const RIGHTS = 'services/apiserver/src/auth/authz/ingress-rules';

/** Ingresses: what their authors could do to each other, and to the proxy. */
export const INGRESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'paths of Ingresses contain anything',
    file: `${RULES}/route-keys.ts`,
    text: 'return path.length <= MAX_PATH && PATH.test(path);',
    replacement: 'return path.length <= MAX_PATH;',
    tests: PLAN_TESTS,
    protects: "HAProxy's files and commands from users' text",
  },
  {
    name: 'hosts of Ingresses contain anything',
    file: `${RULES}/route-keys.ts`,
    text: 'return lower.length <= MAX_HOST && HOST.test(lower) ? lower : undefined;',
    replacement: 'return lower.length <= MAX_HOST ? lower : undefined;',
    tests: PLAN_TESTS,
    protects: "HAProxy's files and commands from users' text",
  },
  {
    name: 'the newest Ingress has a host and path',
    file: `${RULES}/plan.ts`,
    text: 'if (this.#owners.has(key)) return false;',
    replacement: '',
    tests: PLAN_TESTS,
    protects: 'a host and path from a later Ingress of its namespace',
  },
  {
    name: 'an older Ingress takes a host that is served',
    file: `${RULES}/hosts.ts`,
    text: 'if (owners.get(host) === namespace) this.#give(host, namespace);',
    replacement: 'if (owners.size < 0) this.#give(host, namespace);',
    tests: HOST_TESTS,
    protects: 'a host from an Ingress of another namespace that is edited',
  },
  {
    name: 'paths of a host are for every namespace',
    file: `${RULES}/hosts.ts`,
    text: 'return this.#owners.get(host) === namespace;',
    replacement: 'return this.#owners.has(host) && namespace !== undefined;',
    tests: HOST_TESTS,
    protects: 'paths and the certificate of a host from other namespaces',
  },
  {
    name: 'a host below a wildcard is for every namespace',
    file: `${RULES}/hosts.ts`,
    text: 'return (this.#owners.get(above ?? host) ?? namespace) === namespace;',
    replacement: 'return above !== host;',
    tests: HOST_TESTS,
    protects: "a wildcard's hosts from other namespaces",
  },
  {
    name: 'requests of a host go on to the wildcard of another namespace',
    file: `${RULES}/hosts.ts`,
    text: 'if (next !== undefined && next !== namespace) yield host;',
    replacement: '',
    tests: HOST_TESTS,
    protects: 'requests of a host for paths that no rule has',
  },
  {
    name: 'names of ExternalName Services are reached through the proxy',
    file: `${RULES}/backend.ts`,
    text: "if (service.spec?.type === 'ExternalName') {",
    replacement: 'if (service === undefined) {',
    tests: PLAN_TESTS,
    protects: 'the names of the control plane',
  },
  {
    name: 'a namespace has any number of certificates',
    file: `${RULES}/plan.ts`,
    text: 'if (!known.has(name) && known.size >= MAX_SECRETS) {',
    replacement: 'if (known.size < 0) {',
    tests: PLAN_TESTS,
    protects: 'the memory of the proxy',
  },
  {
    name: 'Ingresses lead to closed networks',
    file: `${RULES}/endpoints.ts`,
    text: 'if (!mayServe(address)) continue;',
    replacement: '',
    tests: [`${RULES}/endpoints.test.ts`],
    protects: 'the control network, metadata services and the proxy itself from endpoints there',
  },
  {
    name: "a certificate may have another one's key",
    file: `${RULES}/certificate.ts`,
    text: 'if (!own.checkPrivateKey(key))',
    replacement: 'if (chain.length === 0)',
    tests: [`${RULES}/certificate.test.ts`],
    protects: 'an Event that says what is wrong',
  },
  {
    name: 'the ingress controller reads every Secret',
    file: `${RIGHTS}.ts`,
    text: 'return ingresses.some(({ spec }) => (spec?.tls ?? []).some(({ secretName }) => secretName === name));',
    replacement: 'return ingresses.length >= 0;',
    tests: [`${RIGHTS}.test.ts`],
    protects: 'Secrets that no Ingress names',
  },
  {
    name: 'the ingress controller lists Secrets',
    file: `${RIGHTS}.ts`,
    text: "if (name === undefined || name === '') return false;",
    replacement: "if (name === undefined || name === '') return true;",
    tests: [`${RIGHTS}.test.ts`],
    protects: 'Secrets that no Ingress names',
  },
  {
    name: 'a semicolon in a path ends the command',
    file: 'services/ingress/src/haproxy/change.ts',
    text: "return key.replaceAll(/[;\\\\]/g, '\\\\$&');",
    replacement: 'return key;',
    tests: ['services/ingress/src/haproxy/change.test.ts'],
    protects: "HAProxy's commands from users' text",
  },
  {
    name: 'a slot of HAProxy is used again at once',
    file: 'services/ingress/src/haproxy/slots.ts',
    text: 'const rested = this.#resting.filter(({ since }) => now - since >= REST_MS);',
    replacement: 'const rested = this.#resting.filter(({ since }) => now >= since);',
    tests: ['services/ingress/src/haproxy/slots.test.ts'],
    protects: "a late request from another tenant's servers",
  },
  {
    name: 'statuses make HAProxy change',
    file: 'services/ingress/src/cluster-view.ts',
    text: 'if (!isRouteChange(object, old)) return false;',
    replacement: '',
    tests: PROGRAMMER_TESTS,
    protects: 'the controller from a plan for each of its own writes',
  },
];

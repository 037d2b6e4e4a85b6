import type { Mutant } from '../mutant.ts';

const AUTOSCALER = 'services/controller-manager/src/controllers/horizontal-pod-autoscaler';
const PLAN_TESTS = [`${AUTOSCALER}/plan.test.ts`];
const SHELL_TESTS = [`${AUTOSCALER}/controller.test.ts`];
const COUNT_TESTS = [`${AUTOSCALER}/replica-calculator.test.ts`];
const AGENTS = 'services/apiserver/src/agents';
const METRICS = 'services/apiserver/src/registry/reading/usage-metrics';
const SAMPLER = 'services/agent/src/usage';

/** What pods use, and what is scaled by it. */
export const USAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'an autoscaler looks at every change',
    file: `${AUTOSCALER}/controller.ts`,
    text: 'if (waitMs > 0) return { requeueAfterMs: waitMs };',
    replacement: '',
    tests: SHELL_TESTS,
    protects: 'windows of recommendations, which count in time',
  },
  {
    name: 'two autoscalers have the same pods',
    file: `${AUTOSCALER}/selectors.ts`,
    text: 'rivals.length <= 1',
    replacement: 'rivals.length <= 9',
    tests: SHELL_TESTS,
    protects: 'a target that two autoscalers would pull at',
  },
  {
    name: 'metrics are read for as long as it takes',
    file: `${AUTOSCALER}/controller.ts`,
    text: '(isLate ? NOT_READ : await read(query))',
    replacement: '(await read(query))',
    tests: SHELL_TESTS,
    protects: 'other autoscalers from one with thousands of metrics',
  },
  {
    name: 'pods are removed while a metric fails',
    file: `${AUTOSCALER}/plan.ts`,
    text: '(first !== undefined && highest.replicas < current)',
    replacement: 'false',
    tests: PLAN_TESTS,
    protects: 'pods that the metric which fails may need',
  },
  {
    name: 'pods without metrics count as idle when pods are removed',
    file: `${AUTOSCALER}/replica-calculator.ts`,
    text: 'ratio < 1 ? assumed.missing(name) : 0',
    replacement: '0',
    tests: COUNT_TESTS,
    protects: 'pods that work and are not measured',
  },
  {
    name: 'pods that are not measured turn the direction of a change',
    file: `${AUTOSCALER}/replica-calculator.ts`,
    text: 'isWithin(tolerances, newRatio) || turns',
    replacement: 'isWithin(tolerances, newRatio)',
    tests: COUNT_TESTS,
    protects: 'a count that would swing',
  },
  {
    name: 'recommendations are kept for ever',
    file: `${AUTOSCALER}/memory.ts`,
    text: 'memory.recommendations.filter(({ at }) => at >= now - windowMs)',
    replacement: 'memory.recommendations',
    tests: [`${AUTOSCALER}/limits.test.ts`],
    protects: "the leader's memory",
  },
  {
    name: 'agents tell anyone what pods use',
    file: `${SAMPLER}/usage-handlers.ts`,
    text: "requireApiServer(call, 'nodes', '', 'read usage');",
    replacement: '',
    tests: [`${SAMPLER}/usage-sampler.test.ts`],
    protects: 'what pods of other users do',
  },
  {
    name: 'an ended container is measured for ever',
    file: `${SAMPLER}/usage-sampler.ts`,
    text: 'if (!running.some((container) => container.id === id)) this.#samples.delete(id);',
    replacement: '',
    tests: [`${SAMPLER}/usage-sampler.test.ts`],
    protects: "the agent's memory and time",
  },
  {
    name: 'a control group is read at a path that an id names',
    file: 'services/agent/src/docker/cgroup-stats.ts',
    text: 'if (!ID.test(id)) return undefined;',
    replacement: '',
    tests: ['services/agent/src/docker/cgroup-stats.test.ts'],
    protects: 'other files of the host',
  },
  {
    name: 'the group of an ended container is remembered for ever',
    file: 'services/agent/src/docker/cgroup-stats.ts',
    text: 'await forgetEnded(place);',
    replacement: '',
    tests: ['services/agent/src/docker/cgroup-stats.test.ts'],
    protects: "the agent's memory",
  },
  {
    name: 'an agent says what cannot be shown',
    file: `${AGENTS}/usage-reply.ts`,
    text: 'Math.abs(now - at) > MAX_APART_MS',
    replacement: 'false',
    tests: [`${AGENTS}/agent-usage.test.ts`],
    protects: 'lists of all pods from one broken agent',
  },
  {
    name: 'an agent that is silent is asked by every request',
    file: `${AGENTS}/agent-usage.ts`,
    text: 'known.failedAt !== undefined && now - known.failedAt < SHUNNED_MS',
    replacement: 'false',
    tests: [`${AGENTS}/agent-usage.test.ts`],
    protects: 'requests, from the wait for a dead agent',
  },
  {
    name: 'an agent speaks of pods that another one runs',
    file: `${METRICS}.ts`,
    text: 'const usage = usages.get(nodeOf(object));',
    replacement: 'const usage = [...usages.values()][0];',
    tests: [`${METRICS}.test.ts`],
    protects: 'an autoscaler, from the agent of another node',
  },
];

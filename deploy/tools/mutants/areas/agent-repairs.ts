import type { Mutant } from '../mutant.ts';

const AGENT = 'services/agent/src';

/** What the agent does about containers that someone else has changed, and about commands of pods that do not end. */
export const AGENT_REPAIR_MUTANTS: readonly Mutant[] = [
  {
    name: 'an earlier run that was started from outside stays',
    file: `${AGENT}/plan/stop-rules.ts`,
    text: 'if (latestAttempt(observed, running.name)?.id === running.id) return undefined;',
    replacement: 'if (observed !== undefined) return undefined;',
    tests: [`${AGENT}/plan/plan.test.ts`],
    protects: 'data of a container that two runs would write to',
  },
  {
    name: 'a container starts while an earlier run of it ends',
    file: `${AGENT}/plan/start-rules.ts`,
    text: "name === container.name && state === 'running'",
    replacement: "name === container.name && state === 'running' && name === ''",
    tests: [`${AGENT}/plan/plan.test.ts`],
    protects: 'data of a container that two runs would write to',
  },
  {
    name: 'an init container that is stopped makes its running pod fail',
    file: `${AGENT}/plan/interpret-ends.ts`,
    text: 'init.has(container.name) && initialized.has(container.sandboxId)',
    replacement: "container.name === ''",
    tests: [`${AGENT}/plan/interpret-ends.test.ts`],
    protects: 'pods whose init container someone has started again',
  },
  {
    name: 'a container that was killed with its sandbox has succeeded once that is gone',
    file: `${AGENT}/plan/interpret-ends.ts`,
    text: 'killed.has(container.id) || wasReportedKilled(pod, container)',
    replacement: 'false',
    tests: [`${AGENT}/plan/interpret-ends.test.ts`],
    protects: 'the work of Jobs that an engine interrupted',
  },
  {
    name: 'a container that was stopped for its new resources ends its pod',
    file: `${AGENT}/plan/observed-pod.ts`,
    text: ' && !observed.memory.resized.has(latest.id)',
    replacement: '',
    tests: [`${AGENT}/pods/resize-restart.test.ts`],
    protects: 'the work of Jobs whose programs end well when they are stopped',
  },
  {
    name: 'a pod has succeeded while its container is started again for new resources',
    file: `${AGENT}/plan/restarted-containers.ts`,
    text: ' || memory.resized.has(latest.id)',
    replacement: '',
    tests: [`${AGENT}/pods/resize-restart.test.ts`],
    protects: 'the work of Jobs whose programs end well when they are stopped',
  },
  {
    name: 'a paused container stays paused',
    file: `${AGENT}/plan/plan-unpause.ts`,
    text: "for (const { id, name, activity } of containers)\n    if (activity === 'paused')",
    replacement: "for (const { id, name, activity } of containers)\n    if (activity === undefined && name === '')",
    tests: [`${AGENT}/plan/plan.test.ts`],
    protects: 'Services against endpoints that never answer',
  },
  {
    name: 'commands of probes that do not end pile up on a node',
    file: `${AGENT}/probes/pod-commands.ts`,
    text: 'node.use(begin, signal)',
    replacement: 'begin()',
    tests: [`${AGENT}/probes/probe-runner.test.ts`],
    protects: 'the engine against more commands than it can run',
  },
  {
    name: 'commands of one pod take all places of a node',
    file: `${AGENT}/probes/pod-commands.ts`,
    text: 'return await this.#pod.use(',
    replacement: 'return await this.#limits.begins.use(',
    tests: [`${AGENT}/probes/probe-runner.test.ts`],
    protects: 'probes of pods against those of another one',
  },
];

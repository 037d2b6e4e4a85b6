import type { Mutant } from '../mutant.ts';

const AGENT = 'services/agent/src';
const CUSTODIAN_TESTS = [`${AGENT}/custodian/plan.test.ts`];

/** What pods and nodes of an agent that is gone rely on: only one custodian acts, and only for a lost one. */
export const CUSTODIAN_MUTANTS: readonly Mutant[] = [
  {
    name: 'the custodian acts for a living agent',
    file: `${AGENT}/custodian/plan.ts`,
    text: 'if (isAlive) return [];',
    replacement: '',
    tests: CUSTODIAN_TESTS,
    protects: 'pods of a node whose agent runs',
  },
  {
    name: 'an agent whose Lease is gone for a moment is dead',
    file: `${AGENT}/custodian/custodian.ts`,
    text: 'const renewTime = lease === undefined ? known?.renewTime : lease.spec?.renewTime;',
    replacement:
      "if (lease === undefined) {\n        this.#heartbeats.set(name, { lease, renewTime: '', atMs: nowMs - DEAD_MS });\n        continue;\n      }\n      const renewTime = lease.spec?.renewTime;",
    tests: [`${AGENT}/custodian/custodian.test.ts`],
    protects: 'pods of a living agent whose Node and Lease were deleted',
  },
  {
    name: 'a Lease is owned by a Node that is gone',
    file: `${AGENT}/node/heartbeat.ts`,
    text: 'const uid = this.#looked?.seenUid === seenUid ? this.#looked?.uid : seenUid;',
    replacement: 'const uid = seenUid;',
    tests: [`${AGENT}/node/heartbeat.test.ts`],
    protects: 'a new Lease from being collected at once, again and again',
  },
  {
    name: 'a Lease that is gone is made without a look at the Node',
    file: `${AGENT}/node/heartbeat.ts`,
    text: 'if (known === undefined) await this.#lookForNode(signal);',
    replacement: '',
    tests: [`${AGENT}/node/heartbeat.test.ts`],
    protects: 'the Node of a living agent, which is registered again at once',
  },
  {
    name: 'the custodian removes a node whose container was just replaced',
    file: `${AGENT}/custodian/plan.ts`,
    text: 'const scaledAway = missingMs >= SUCCESSOR_MS;',
    replacement: "const scaledAway = node.container === 'missing';",
    tests: CUSTODIAN_TESTS,
    protects: 'nodes whose agent is being recreated',
  },
  {
    name: 'the custodian removes a node with pods',
    file: `${AGENT}/custodian/plan.ts`,
    text: 'if (node.podCount === 0 && node.containerCount === 0) return',
    replacement: 'if (node.podCount >= 0) return',
    tests: CUSTODIAN_TESTS,
    protects: 'pods that are still being drained',
  },
  {
    name: 'the custodian cleans up for an agent that is just starting',
    file: `${AGENT}/custodian/plan.ts`,
    text: "node.container !== 'running' && node.containerCount > 0 ? cleanUps",
    replacement: 'node.containerCount > 0 ? cleanUps',
    tests: CUSTODIAN_TESTS,
    protects: 'containers that the starting agent adopts',
  },
  {
    name: 'the custodian removes a node that has come back',
    file: `${AGENT}/custodian/custodian.ts`,
    text: 'client.delete(LEASES, key, versionOf(lease), signal)',
    replacement: 'client.delete(LEASES, key, {}, signal)',
    tests: [`${AGENT}/custodian/custodian.test.ts`],
    protects: 'an agent that has renewed its Lease since the custodian looked',
  },
  {
    name: 'the custodian removes a Node that was written meanwhile',
    file: `${AGENT}/custodian/delete-node.ts`,
    text: "client.delete(NODES, { namespace: '', name }, versionOf(node), signal)",
    replacement: "client.delete(NODES, { namespace: '', name }, {}, signal)",
    tests: [`${AGENT}/custodian/custodian.test.ts`],
    protects: 'an agent that has written its Node since the custodian looked',
  },
  {
    name: 'the custodian deletes a successor of the pod',
    file: `${AGENT}/custodian/custodian.ts`,
    text: 'client.delete(PODS, { namespace, name }, { uid }, signal)',
    replacement: 'client.delete(PODS, { namespace, name }, {}, signal)',
    tests: [`${AGENT}/custodian/custodian.test.ts`],
    protects: 'a pod of the same name on another node',
  },
  {
    name: 'a custodian goes on after its Lease has run out',
    file: `${AGENT}/custodian/lease-election.ts`,
    text: 'const holds = this.#leftMs() > 0;',
    replacement: 'const holds = this.#renewedMs > 0;',
    tests: [`${AGENT}/custodian/lease-election.test.ts`],
    protects: 'two custodians that act for the same dead agent',
  },
  {
    name: 'a custodian takes a Lease that has not run out',
    file: `${AGENT}/custodian/lease-election.ts`,
    text: "if (holder !== identity && holder !== '' && !this.#hasRunOut(found)) return false;",
    replacement: '',
    tests: [`${AGENT}/custodian/lease-election.test.ts`],
    protects: 'two custodians that act at the same time',
  },
  {
    name: 'the custodian starts pods of another node',
    file: `${AGENT}/pods/pod-worker.ts`,
    text: "if (this.#services.mode !== 'run' && goal !== 'delete') return [];",
    replacement: '',
    tests: [`${AGENT}/pods/stale-knowledge.test.ts`],
    protects: 'pods of a dead agent: two agents would run them',
  },
];

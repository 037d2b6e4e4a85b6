import type { Mutant } from '../mutant.ts';

const CONTROLLERS = 'services/controller-manager/src/controllers';
const DAEMONS = `${CONTROLLERS}/daemon-set`;
const NODES = `${CONTROLLERS}/node-lifecycle`;
const TAINTS = `${CONTROLLERS}/taint-eviction`;
const RUNTIME = 'packages/controller-runtime/src';
const PLAN_TESTS = [`${DAEMONS}/plan.test.ts`];
const SHELL_TESTS = [`${DAEMONS}/controller.test.ts`];

/** DaemonSets, and how the pods of lost nodes are evicted. */
export const DAEMON_SET_MUTANTS: readonly Mutant[] = [
  {
    name: 'a daemon pod is created beside one that terminates',
    file: `${DAEMONS}/node-pods.ts`,
    text: 'if (!rules.allowsSurge) return { create: false,',
    replacement: "if (!rules.allowsSurge) return { create: placement === 'run' && running.length === 0,",
    tests: PLAN_TESTS,
    protects: 'at most one pod of a set on a node',
  },
  {
    name: 'several daemon pods of a node stay',
    file: `${DAEMONS}/node-pods.ts`,
    text: 'excess(running.slice(1))',
    replacement: 'excess(running.slice(9))',
    tests: PLAN_TESTS,
    protects: 'at most one pod of a set on a node',
  },
  {
    name: 'a surging update deletes the old pod before the new one is available',
    file: `${DAEMONS}/rolling-update.ts`,
    text: 'if (isUp(updated)) found.remove.push(old);',
    replacement: 'if (updated !== undefined) found.remove.push(old);',
    tests: PLAN_TESTS,
    protects: 'the service of every node during an update with maxSurge',
  },
  {
    name: 'an update does not count what is unavailable already',
    file: `${DAEMONS}/rolling-update.ts`,
    text: 'Math.max(0, bound - unavailable)',
    replacement: 'Math.max(0, bound)',
    tests: PLAN_TESTS,
    protects: 'maxUnavailable',
  },
  {
    name: 'failed daemon pods are replaced without a delay',
    file: `${DAEMONS}/node-pods.ts`,
    text: '...(backsOff ? [] : failed.slice(0, 1))',
    replacement: '...failed.slice(0, 1)',
    tests: PLAN_TESTS,
    protects: 'the apiserver from a node that rejects the pods of a set',
  },
  {
    name: 'the history of a DaemonSet loses a revision that pods are of',
    file: `${DAEMONS}/history.ts`,
    text: 'isLive: (one) => live.has(hashOf(one))',
    replacement: 'isLive: () => false',
    tests: [`${DAEMONS}/history.test.ts`],
    protects: 'rolling back to a template that still runs',
  },
  {
    name: 'a DaemonSet adopts while it is being deleted',
    file: `${DAEMONS}/controller.ts`,
    text: 'if (isAdopting && !(await mayAdopt(context.client, DAEMON_SETS, set, signal))) return {};',
    replacement: '',
    tests: SHELL_TESTS,
    protects: 'orphans that the collector would delete with the set',
  },
  {
    name: 'a collision of revision names is taken for success',
    file: `${DAEMONS}/controller.ts`,
    text: 'if ((await createRevision(client, revision, this.#signal)) !== undefined) return undefined;',
    replacement:
      'await createRevision(client, revision, this.#signal);\n    if (revision !== undefined) return undefined;',
    tests: SHELL_TESTS,
    protects: 'pods whose hash names the template of another revision',
  },
  {
    name: 'evictions go on while no node is ready',
    file: `${NODES}/zones.ts`,
    text: "if (all.length > 0 && all.every((one) => zoneState(one, rates) === 'full')) return undefined;",
    replacement: '',
    tests: [`${NODES}/zones.test.ts`, `${NODES}/controller.test.ts`],
    protects: 'the pods of a cluster whose control plane lost sight of all nodes',
  },
  {
    name: 'evictions of a zone are not limited',
    file: `${NODES}/eviction-limiter.ts`,
    text: 'const isAllowed = tokens >= 1 && perSecond > 0;',
    replacement: 'const isAllowed = perSecond > 0;',
    tests: [`${NODES}/zones.test.ts`],
    protects: 'the rest of a zone from the pods of many lost nodes at once',
  },
  {
    name: 'an eviction that is scheduled is not reported as cancelled when its pod is deleted',
    file: `${TAINTS}/controller.ts`,
    text: 'isOnTainted || scheduled.has(formatKey(key))',
    replacement: 'isOnTainted',
    tests: [`${TAINTS}/controller.test.ts`],
    protects: 'what is remembered of pods that are gone',
  },
  {
    name: 'a toleration of a taint without a time never runs out',
    file: `${TAINTS}/plan.ts`,
    text: 'const since = scheduled?.since ?? now;',
    replacement: 'const since = now;',
    tests: [`${TAINTS}/plan.test.ts`],
    protects: 'tolerationSeconds of taints that users set',
  },
  {
    name: 'a pod that is bound to a node which has been tainted for long is evicted at once',
    file: `${TAINTS}/plan.ts`,
    text: 'Math.max(Date.parse(taint.timeAdded), bound)',
    replacement: 'Date.parse(taint.timeAdded)',
    tests: [`${TAINTS}/plan.test.ts`],
    protects: 'pods that name a node which has just come back',
  },
  {
    name: 'Events about one object are not limited',
    file: `${RUNTIME}/event-correlator.ts`,
    text: 'if (bucket.tokens < 1) return false;',
    replacement: '',
    tests: [`${RUNTIME}/event-correlator.test.ts`],
    protects: 'etcd from a flood of Events about one object',
  },
];

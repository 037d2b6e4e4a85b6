import { expect, it } from 'vitest';
import { type ObservedNode, planCustodian } from './plan.ts';

const NOW = 100_000;
const node = (change: Partial<ObservedNode>): ObservedNode => ({
  name: 'host-2',
  object: 'present',
  schedulable: 'yes',
  container: 'running',
  missingSinceMs: undefined,
  heartbeatMs: NOW - 1_000,
  livingPods: [],
  podCount: 0,
  containerCount: 0,
  ...change,
});
const POD = { namespace: 'default', name: 'web', uid: 'uid-1' };
const scaledAway = { container: 'missing', missingSinceMs: NOW - 10_000, heartbeatMs: NOW - 12_000 } as const;

it.each([
  { name: 'leaves a living agent alone', node: node({}), actions: [] },
  {
    name: 'leaves a living agent alone whose container is not listed',
    node: node({ container: 'missing', missingSinceMs: NOW - 60_000 }),
    actions: [],
  },
  {
    name: 'cleans up for a dead agent',
    node: node({ heartbeatMs: NOW - 5_000, container: 'stopped' }),
    actions: ['cleanUp'],
  },
  { name: 'cleans up for a frozen agent', node: node({ heartbeatMs: NOW - 5_000 }), actions: ['cleanUp'] },
  {
    name: 'gives a successor ten seconds',
    node: node({ ...scaledAway, missingSinceMs: NOW - 9_999, livingPods: [POD], podCount: 1 }),
    actions: ['cleanUp'],
  },
  {
    name: 'drains a node that was scaled away',
    node: node({ ...scaledAway, livingPods: [POD], podCount: 1, containerCount: 1 }),
    actions: ['cordon', 'evictPod', 'cleanUp', 'cleanUp'],
  },
  {
    name: 'evicts for half a minute',
    node: node({ ...scaledAway, missingSinceMs: NOW - 39_999, schedulable: 'no', livingPods: [POD], podCount: 1 }),
    actions: ['evictPod', 'cleanUp', 'cleanUp'],
  },
  {
    name: 'deletes what budgets have held up for half a minute',
    node: node({ ...scaledAway, missingSinceMs: NOW - 40_000, schedulable: 'no', livingPods: [POD], podCount: 1 }),
    actions: ['deletePod', 'cleanUp', 'cleanUp'],
  },
  {
    name: 'waits for pods that are being deleted',
    node: node({ ...scaledAway, schedulable: 'no', podCount: 1 }),
    actions: ['cleanUp', 'cleanUp'],
  },
  {
    name: 'waits for containers that are left',
    node: node({ ...scaledAway, schedulable: 'no', containerCount: 1 }),
    actions: ['cleanUp', 'cleanUp'],
  },
  { name: 'removes an empty node that was scaled away', node: node(scaledAway), actions: ['removeNode'] },
  {
    name: 'removes containers of a node without an object',
    node: node({ object: 'absent', container: 'missing', heartbeatMs: NOW - 5_000, containerCount: 2 }),
    actions: ['cleanUp', 'cleanUp'],
  },
  {
    name: 'does not interfere with an agent that is about to register',
    node: node({ object: 'absent', heartbeatMs: NOW - 5_000, containerCount: 2 }),
    actions: [],
  },
])('the custodian $name', ({ node: observed, actions }) => {
  expect(planCustodian([observed], NOW).map(({ kind }) => kind)).toEqual(actions);
});

it.each([
  ['a dead agent that may come back', node({ heartbeatMs: NOW - 5_000, container: 'stopped' }), ['of-api']],
  ['an agent that was scaled away', node({ ...scaledAway, podCount: 1 }), ['of-api', 'static']],
  [
    'a node without an object',
    node({ object: 'absent', container: 'missing', heartbeatMs: NOW - 5_000, containerCount: 2 }),
    ['of-api', 'static'],
  ],
])('the custodian of %s: which pods it removes', (_, observed, pods) => {
  const actions = planCustodian([observed], NOW);
  expect(actions.flatMap((action) => (action.kind === 'cleanUp' ? [action.pods] : []))).toEqual(pods);
});

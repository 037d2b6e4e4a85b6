import type { Lease, Node } from '@gantry/objects';
import { expect, test } from 'vitest';
import { judgeNodes } from './readiness.ts';
import { readRunningAgents } from './running-agents.ts';

const podCidr = '10.128.0.0/20';
const STARTED = '2026-01-01T00:00:10.123456789Z';
const BEFORE = '2026-01-01T00:00:10.100000Z';
const AFTER = '2026-01-01T00:00:10.200000Z';

function node(name: string, address: string, ready: 'True' | 'Unknown' = 'True'): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { addresses: [{ type: 'InternalIP', address }], conditions: [{ type: 'Ready', status: ready }] },
  };
}

function lease(name: string, renewTime: string): Lease {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: { renewTime } };
}

const agents = readRunningAgents(`/c-agent-1\t${STARTED}\t10.128.0.4\n/c-agent-2\t${STARTED}\t10.128.0.7\n`);

test('agents are read with their addresses and starts; one that has ended meanwhile has no address', () => {
  expect(agents).toEqual([
    { name: 'c-agent-1', address: '10.128.0.4', startedAt: Date.parse('2026-01-01T00:00:10.123Z') },
    { name: 'c-agent-2', address: '10.128.0.7', startedAt: Date.parse('2026-01-01T00:00:10.123Z') },
  ]);
  expect(readRunningAgents(`/c-agent-1\t${STARTED}\t\n`)).toEqual([]);
});

const MISSING = 'not registered and Ready yet: ';

test.each<readonly [string, readonly Node[], readonly Lease[], string | undefined]>([
  [
    'both have registered',
    [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.7')],
    [lease('n-1', AFTER), lease('n-2', AFTER)],
    undefined,
  ],
  [
    'one has the address that the other had before it started anew',
    [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.4')],
    [lease('n-1', AFTER), lease('n-2', BEFORE)],
    `${MISSING}c-agent-2`,
  ],
  [
    "they have each other's addresses",
    [node('n-1', '10.128.12.7'), node('n-2', '10.128.12.4')],
    [lease('n-1', BEFORE), lease('n-2', BEFORE)],
    `${MISSING}c-agent-1, c-agent-2`,
  ],
  [
    'there is no Lease',
    [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.7')],
    [lease('n-2', AFTER)],
    `${MISSING}c-agent-1`,
  ],
  [
    'the other node is of another host',
    [node('n-3', '10.129.12.4'), node('n-2', '10.128.12.7')],
    [lease('n-3', AFTER), lease('n-2', AFTER)],
    `${MISSING}c-agent-1`,
  ],
  [
    'one is not Ready',
    [node('n-1', '10.128.12.4', 'Unknown'), node('n-2', '10.128.12.7')],
    [lease('n-1', AFTER), lease('n-2', AFTER)],
    '1 of 2 nodes Ready, not yet: n-1',
  ],
])('two agents: %s', (_, nodes, leases, missing) => {
  const look = judgeNodes({ nodes, leases }, { count: 2, podCidr }, agents);
  expect(look).toEqual(missing === undefined ? { done: true, value: 2 } : { done: false, missing });
});

test('an agent that does not run has no node, though that is still Ready', () => {
  const nodes = [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.7')];
  const look = judgeNodes({ nodes, leases: [lease('n-1', AFTER)] }, { count: 2, podCidr }, agents.slice(0, 1));
  expect(look).toEqual({ done: false, missing: '1 of 2 agents run' });
});

test("a container outside of the engine's part of the range has its own address", () => {
  const found = readRunningAgents(`/c-agent-1\t${STARTED}\t192.0.2.9\n`);
  const seen = { nodes: [node('n-1', '192.0.2.9')], leases: [lease('n-1', AFTER)] };
  expect(judgeNodes(seen, { count: 1, podCidr }, found)).toEqual({ done: true, value: 1 });
});

import type { Lease, Node } from '@gantry/objects';
import { expect, test } from 'vitest';
import { agentsWithoutNode } from './readiness.ts';
import { readRunningAgents } from './running-agents.ts';

const podCidr = '10.128.0.0/20';
const STARTED = '2026-01-01T00:00:10.123456789Z';
const BEFORE = '2026-01-01T00:00:10.100000Z';
const AFTER = '2026-01-01T00:00:10.200000Z';

function node(name: string, address: string): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { addresses: [{ type: 'InternalIP', address }] },
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

test.each<readonly [string, readonly Node[], readonly Lease[], readonly string[]]>([
  [
    'both have registered',
    [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.7')],
    [lease('n-1', AFTER), lease('n-2', AFTER)],
    [],
  ],
  [
    'one has the address that the other had before it started anew',
    [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.4')],
    [lease('n-1', AFTER), lease('n-2', BEFORE)],
    ['c-agent-2'],
  ],
  [
    "they have each other's addresses",
    [node('n-1', '10.128.12.7'), node('n-2', '10.128.12.4')],
    [lease('n-1', BEFORE), lease('n-2', BEFORE)],
    ['c-agent-1', 'c-agent-2'],
  ],
  ['there is no Lease', [node('n-1', '10.128.12.4'), node('n-2', '10.128.12.7')], [lease('n-2', AFTER)], ['c-agent-1']],
  ['there is no Node', [node('n-2', '10.128.12.7')], [lease('n-1', AFTER), lease('n-2', AFTER)], ['c-agent-1']],
])('agents that have not registered since their start: %s', (_, nodes, leases, expected) => {
  expect(agentsWithoutNode(agents, { podCidr, nodes, leases }).map(({ name }) => name)).toEqual(expected);
});

test("a container outside of the engine's part of the range has its own address", () => {
  const [agent] = readRunningAgents(`/c-agent-1\t${STARTED}\t192.0.2.9\n`);
  const found = { podCidr, nodes: [node('n-1', '192.0.2.9')], leases: [lease('n-1', AFTER)] };
  expect(agentsWithoutNode(agent === undefined ? [] : [agent], found)).toEqual([]);
});

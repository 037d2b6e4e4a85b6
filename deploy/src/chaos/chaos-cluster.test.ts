import { expect, test } from 'vitest';
import type { Facts } from '../status/facts.ts';
import { problemsOf } from './chaos-cluster.ts';

test('the health of a cluster names the agents that have no node', () => {
  const container = (name: string) => ({ name, service: 'agent', state: 'running', health: 'healthy' });
  const node = (name: string) => ({ name, ready: 'True', pressures: [] });
  const leader = (component: string) => ({ component, holder: 'a', freshness: 'current' });
  const facts = {
    containers: [container('gantry-agent-1'), container('gantry-agent-2')],
    etcd: [],
    api: { state: 'ready' },
    leaders: [leader('kube-scheduler'), leader('kube-controller-manager')],
    nodes: [node('host-2')],
    waitingPods: [],
    certificates: [],
  } as unknown as Facts;
  expect(problemsOf(facts)).toEqual(['1 nodes of 2 agents, none of gantry-agent-1']);
  expect(problemsOf({ ...facts, nodes: [...facts.nodes, ...facts.nodes] })).toEqual([]);
});

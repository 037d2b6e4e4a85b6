import type { Node, Pod, Taint } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { Heartbeats } from './heartbeats.ts';
import { type ObservedNode, planNode } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const TTL = { 'node.alpha.kubernetes.io/ttl': '0' };

function node(ready: string, rest: { taints?: Taint[]; unschedulable?: boolean } = {}): Node {
  const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
    type,
    status: type === 'Ready' || ready === 'Unknown' ? ready : 'False',
    reason: 'R',
    message: 'm',
    lastHeartbeatTime: '2026-01-01T11:59:00Z',
    lastTransitionTime: '2026-01-01T11:00:00Z',
  }));
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', annotations: TTL },
    spec: rest,
    status: { conditions },
  };
}

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a' },
  spec: { containers: [], nodeName: 'n' },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

function observed(of: Partial<ObservedNode> & { node: Node }): ObservedNode {
  return { pods: [], heartbeat: 'heard', eviction: 'allowed', registration: 'recorded', ...of };
}

const keys = (taints: readonly Taint[]) => taints.map(({ key, effect }) => `${key}:${effect}`);

describe('planning a node', () => {
  it('does nothing about a node that is well', () => {
    expect(planNode(observed({ node: node('True') }), NOW).actions).toEqual([]);
  });

  it('writes nothing to a node that has reported nothing yet, and makes it unknown when it stays silent', () => {
    const { status: _, ...fresh } = node('True');
    expect(planNode(observed({ node: fresh }), NOW).actions).toEqual([]);
    const [status] = planNode(observed({ node: fresh, heartbeat: 'silent' }), NOW).actions;
    expect(status?.kind === 'updateStatus' && status.conditions.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 4 }, () => 'NodeStatusNeverUpdated'),
    );
  });

  it('makes a silent node unknown, taints it, says so, and takes its pods for unready', () => {
    const actions = planNode(observed({ node: node('True'), pods: [pod], heartbeat: 'silent' }), NOW).actions;
    expect(actions.map(({ kind }) => kind)).toEqual(['updateStatus', 'recordNotReady', 'setTaints', 'markPodNotReady']);
    const [status, , taints, unready] = actions;
    if (status?.kind !== 'updateStatus' || taints?.kind !== 'setTaints' || unready?.kind !== 'markPodNotReady') return;
    expect(status.conditions[0]).toMatchObject({
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
      lastHeartbeatTime: '2026-01-01T11:59:00Z',
      lastTransitionTime: '2026-01-01T12:00:00Z',
    });
    expect(keys(taints.taints)).toEqual([
      'node.kubernetes.io/unreachable:NoSchedule',
      'node.kubernetes.io/unreachable:NoExecute',
    ]);
    expect(unready.ready).toEqual({ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T12:00:00Z' });
  });

  it('plans nothing more once that is done', () => {
    const first = planNode(observed({ node: node('True'), heartbeat: 'silent' }), NOW).actions;
    const conditions = first.flatMap((action) => (action.kind === 'updateStatus' ? action.conditions : []));
    const taints = first.flatMap((action) => (action.kind === 'setTaints' ? action.taints : []));
    const after: Node = { ...node('True'), spec: { taints }, status: { conditions } };
    expect(planNode(observed({ node: after, heartbeat: 'silent' }), NOW + 60_000).actions).toEqual([]);
  });

  const evicting = [
    { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
  ];

  it.each(['delayed', 'stopped'] as const)('evicts no pods while that is %s, and asks again', (eviction) => {
    const plan = planNode(observed({ node: node('True'), heartbeat: 'silent', eviction, askAgainAt: NOW + 500 }), NOW);
    const [, , taints] = plan.actions;
    expect(taints?.kind === 'setTaints' && keys(taints.taints)).toEqual(['node.kubernetes.io/unreachable:NoSchedule']);
    expect(plan.requeueAt).toBe(NOW + 500);
  });

  it('goes on with an eviction that later ones wait for, and ends it when no node is ready', () => {
    const lost = { node: node('Unknown', { taints: evicting }), heartbeat: 'silent' } as const;
    expect(planNode(observed({ ...lost, eviction: 'delayed' }), NOW).actions).toEqual([]);
    expect(planNode(observed({ ...lost, eviction: 'stopped' }), NOW).actions).toEqual([
      { kind: 'setTaints', taints: [evicting[0]] },
    ]);
  });

  it('changes the reason of an eviction without a delay', () => {
    const back = observed({ node: node('False', { taints: evicting }), eviction: 'delayed' });
    const [action] = planNode(back, NOW).actions;
    expect(action?.kind === 'setTaints' && keys(action.taints)).toEqual([
      'node.kubernetes.io/not-ready:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
    ]);
  });

  it('keeps the beta labels in step with the stable ones', () => {
    const labelled = (labels: Record<string, string>) => {
      const one = node('True');
      return planNode(observed({ node: { ...one, metadata: { ...one.metadata, labels } } }), NOW).actions;
    };
    expect(
      labelled({ 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/os': 'x' }),
    ).toEqual([{ kind: 'label', labels: { 'beta.kubernetes.io/os': 'linux', 'beta.kubernetes.io/arch': 'arm64' } }]);
    expect(labelled({ 'kubernetes.io/os': 'linux', 'beta.kubernetes.io/os': 'linux' })).toEqual([]);
    expect(labelled({ 'beta.kubernetes.io/arch': 'amd64' })).toEqual([]);
  });

  it('takes its own taints off a node that is back, and no others', () => {
    const taints = [
      { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
      { key: 'dedicated', effect: 'NoSchedule', value: 'x' },
    ];
    expect(planNode(observed({ node: node('True', { taints }) }), NOW).actions).toEqual([
      { kind: 'setTaints', taints: [taints[1]] },
    ]);
  });

  it('taints cordoned and unready nodes', () => {
    const [action] = planNode(observed({ node: node('False', { unschedulable: true }) }), NOW).actions;
    expect(action?.kind === 'setTaints' && keys(action.taints)).toEqual([
      'node.kubernetes.io/not-ready:NoSchedule',
      'node.kubernetes.io/unschedulable:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
    ]);
  });
});

describe('heartbeats', () => {
  it('give a node a full period after each sign of life', () => {
    const heartbeats = new Heartbeats(4000);
    expect(heartbeats.note('n', '1', 0)).toBe(4000);
    expect(heartbeats.note('n', '1', 3000)).toBe(1000);
    expect(heartbeats.note('n', '2', 3500)).toBe(4000);
    expect(heartbeats.note('n', '2', 7500)).toBe(0);
  });

  it('give a node without a status the time to start', () => {
    const heartbeats = new Heartbeats(4000, 60_000);
    expect(heartbeats.note('n', '1', 0, 'starting')).toBe(60_000);
    expect(heartbeats.isQuiet(heartbeats.note('n', '1', 20_000, 'starting'))).toBe(false);
    expect(heartbeats.note('n', '1', 60_000, 'starting')).toBe(0);
    expect(heartbeats.note('n', '2', 60_000, 'started')).toBe(4000);
    expect(heartbeats.note('n', '2', 64_000, 'started')).toBe(0);
  });

  it('forget heartbeats of an earlier term', () => {
    const heartbeats = new Heartbeats(4000);
    heartbeats.note('n', '1', 0);
    heartbeats.reset();
    expect(heartbeats.note('n', '1', 60_000)).toBe(4000);
  });

  it('begin every period anew with the first evidence after a gap', () => {
    const heartbeats = new Heartbeats(4000);
    heartbeats.note('n', '1', 0);
    heartbeats.viewed(1500);
    expect(heartbeats.leftMs('n', 3000)).toBe(1000);
    heartbeats.viewed(5000);
    expect(heartbeats.leftMs('n', 5000)).toBe(4000);
    expect(heartbeats.isViewed(5400)).toBe(true);
    heartbeats.interrupted();
    expect(heartbeats.isViewed(5400)).toBe(false);
    heartbeats.viewed(5500);
    expect(heartbeats.leftMs('n', 5500)).toBe(4000);
  });

  it('of other nodes are evidence, those that a node begins with are none', () => {
    const heartbeats = new Heartbeats(4000);
    heartbeats.note('n', '1', 0);
    heartbeats.note('other', '1', 3000);
    expect(heartbeats.isViewed(3000)).toBe(false);
    heartbeats.note('other', '2', 3000);
    expect(heartbeats.isViewed(3000)).toBe(true);
    expect(heartbeats.leftMs('n', 3000)).toBe(4000);
  });

  it('are looked for when one is late, and then often', () => {
    const heartbeats = new Heartbeats(4000);
    expect(heartbeats.nextLookMs(4000)).toBe(1200);
    expect(heartbeats.nextLookMs(2000)).toBe(500);
    expect(heartbeats.nextLookMs(100)).toBe(101);
  });
});

describe('planning the Events of a node', () => {
  it('records its registration once in a term', () => {
    const registration = 'new';
    expect(planNode(observed({ node: node('True'), registration }), NOW).actions).toEqual([
      { kind: 'recordRegistered' },
    ]);
  });
});

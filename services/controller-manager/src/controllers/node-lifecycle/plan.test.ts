import { readFileSync } from 'node:fs';
import type { Lease, Node, Pod, Taint } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { Heartbeats } from './heartbeats.ts';
import { Periods } from './periods.ts';
import { type Action, type ObservedNode, planNode } from './plan.ts';

interface Case {
  readonly name: string;
  /** The status of its condition Ready: True when absent, and null for a node that has reported nothing. */
  readonly ready?: string | null;
  /** The taints as `key:effect`. */
  readonly taints?: readonly string[];
  readonly unschedulable?: boolean;
  readonly labels?: Record<string, string>;
  /** Whether the node has a pod that is ready. */
  readonly pods?: boolean;
  readonly heartbeat?: ObservedNode['heartbeat'];
  readonly eviction?: ObservedNode['eviction'];
  readonly askAgainInMs?: number;
  readonly registration?: ObservedNode['registration'];
  readonly want: {
    readonly actions: readonly string[];
    /** The reasons of its conditions. */
    readonly reasons?: readonly string[];
    readonly taints?: readonly string[];
    readonly labels?: Record<string, string>;
    readonly againInMs?: number;
  };
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2026-01-01T12:00:00Z');
const TTL = { 'node.alpha.kubernetes.io/ttl': '0' };

function nodeOf({ ready = 'True', taints, unschedulable, labels }: Partial<Case>): Node {
  const conditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => ({
    type,
    status: type === 'Ready' || ready === 'Unknown' ? (ready ?? '') : 'False',
    reason: 'R',
    message: 'm',
    lastHeartbeatTime: '2026-01-01T11:59:00Z',
    lastTransitionTime: '2026-01-01T11:00:00Z',
  }));
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', annotations: TTL, ...(labels === undefined ? {} : { labels }) },
    spec: {
      ...(taints === undefined ? {} : { taints: taints.map(taintOf) }),
      ...(unschedulable === undefined ? {} : { unschedulable }),
    },
    ...(ready === null ? {} : { status: { conditions } }),
  };
}

function taintOf(text: string): Taint {
  const [key = '', effect = ''] = text.split(':');
  return { key, effect };
}

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a' },
  spec: { containers: [], nodeName: 'n' },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

function observe(one: Partial<Case>): ObservedNode {
  const { heartbeat = 'heard', eviction = 'allowed', registration = 'recorded', pods = false, askAgainInMs } = one;
  const askAgain = askAgainInMs === undefined ? {} : { askAgainAt: NOW + askAgainInMs };
  return { node: nodeOf(one), pods: pods ? [pod] : [], heartbeat, eviction, registration, ...askAgain };
}

/** What is observed after the actions were carried out. */
function carryOut(observed: ObservedNode, actions: readonly Action[]): ObservedNode {
  let { node, pods, registration } = observed;
  for (const action of actions) {
    switch (action.kind) {
      case 'updateStatus':
        node = { ...node, status: { ...node.status, conditions: [...action.conditions] } };
        break;
      case 'setTaints':
        node = { ...node, spec: { ...node.spec, taints: [...action.taints] } };
        break;
      case 'label':
        node = { ...node, metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...action.labels } } };
        break;
      case 'annotate':
        node = { ...node, metadata: { ...node.metadata, annotations: { ...action.annotations } } };
        break;
      case 'markPodNotReady':
        pods = [{ ...action.pod, status: { conditions: [action.ready] } }];
        break;
      case 'recordRegistered':
        registration = 'recorded';
        break;
      case 'recordNotReady':
        break;
    }
  }
  return { ...observed, node, pods, registration };
}

describe('planning a node', () => {
  it.each(CASES)('$name', (one) => {
    const { want } = one;
    const observed = observe(one);
    const { actions, requeueAt } = planNode(observed, NOW);
    expect(actions.map(({ kind }) => kind)).toEqual(want.actions);
    const taints = actions.flatMap((action) =>
      action.kind === 'setTaints' ? [action.taints.map(({ key, effect }) => `${key}:${effect}`)] : [],
    );
    expect(taints).toEqual(want.taints === undefined ? [] : [want.taints]);
    const reasons = actions.flatMap((action) => (action.kind === 'updateStatus' ? action.conditions : []));
    expect([...new Set(reasons.map(({ reason }) => reason))]).toEqual(want.reasons ?? []);
    const labels = actions.flatMap((action) => (action.kind === 'label' ? [action.labels] : []));
    expect(labels).toEqual(want.labels === undefined ? [] : [want.labels]);
    expect(requeueAt).toBe(want.againInMs === undefined ? undefined : NOW + want.againInMs);
    expect(planNode(carryOut(observed, actions), NOW + 60_000).actions).toEqual([]);
  });

  it('says since when a silent node is unknown, and its pods are not ready', () => {
    const { actions } = planNode(observe({ pods: true, heartbeat: 'silent' }), NOW);
    const [status, , , unready] = actions;
    expect(status?.kind === 'updateStatus' && status.conditions[0]).toMatchObject({
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
      lastHeartbeatTime: '2026-01-01T11:59:00Z',
      lastTransitionTime: '2026-01-01T12:00:00Z',
    });
    const lastTransitionTime = '2026-01-01T12:00:00Z';
    expect(unready).toMatchObject({ ready: { type: 'Ready', status: 'False', lastTransitionTime } });
  });

  it('keeps all of a foreign taint', () => {
    const own = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
    const foreign = { key: 'dedicated', effect: 'NoSchedule', value: 'x' };
    const observed = observe({});
    const node = { ...observed.node, spec: { taints: [own, foreign] } };
    expect(planNode({ ...observed, node }, NOW).actions).toEqual([{ kind: 'setTaints', taints: [foreign] }]);
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

  it('of a node are those of nodes that report as often', () => {
    const node = (status: Node['status']): Node => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      status,
    });
    const started = node({ conditions: [{ type: 'Ready', status: 'False' }] });
    const lease = (leaseDurationSeconds: number): Lease => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'n' },
      spec: { leaseDurationSeconds },
    });
    const periods = new Periods(4000);
    expect(periods.of(node({}), lease(4)).note('n', '1', 0)).toBe(60_000);
    expect(periods.of(started, lease(4)).note('n', '2', 100)).toBe(4000);
    expect(periods.of(started, lease(5)).note('n', '3', 100)).toBe(50_000);
    expect(periods.of(started, undefined).note('n', '3', 1100)).toBe(49_000);
    // Its earlier period in the other group does not count when it changes back.
    expect(periods.of(started, lease(4)).note('n', '2', 2000)).toBe(4000);
    expect(periods.of(started, lease(40)).note('n', '3', 3000)).toBe(50_000);
    periods.forget('n');
    expect(periods.of(started, lease(40)).note('n', '3', 3500)).toBe(50_000);
    expect(new Periods(2000).of(started, lease(4)).note('n', '1', 0)).toBe(2000);
    expect(new Periods(90_000).of(started, lease(100)).note('n', '1', 0)).toBe(90_000);
    expect(new Periods(90_000).of(node({}), undefined).note('n', '1', 0)).toBe(90_000);
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

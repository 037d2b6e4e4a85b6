import type { Node, Pod } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { NAMES, NEEDS_REBOOT } from './handshake.ts';
import { DRAIN, type ObservedNode, planAgent } from './plan-agent.ts';

const SYSTEM = { [NAMES.id]: 'debian', [NAMES.group]: 'stable', [NAMES.version]: '12' };
const IDLE_NODE = { [NAMES.rebootNeeded]: 'false', [NAMES.rebootInProgress]: 'false' };
const LABELS = { ...SYSTEM, [NAMES.rebootNeeded]: 'false' };
const NOW = 1_000_000;

function node(
  annotations: Record<string, string>,
  labels: Record<string, string> = LABELS,
  unschedulable?: true,
): Node {
  const metadata = { name: 'n', uid: 'u', resourceVersion: '7', annotations, labels };
  return { apiVersion: 'v1', kind: 'Node', metadata, spec: unschedulable === undefined ? {} : { unschedulable } };
}
function pod(name: string, metadata: Pod['metadata'] = {}, phase = 'Running'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { containers: [] },
    status: { phase },
  };
}
const plan = (of: Node, rest: Partial<ObservedNode> = {}) =>
  planAgent({ node: of, pods: [], boot: 'first', system: SYSTEM, now: NOW, gracePeriodMs: 600_000, ...rest });
const draining = (boot = 'first', since = NOW - 1000) => ({
  [NAMES.rebootInProgress]: 'true',
  [NAMES.rebootNeeded]: 'true',
  [NAMES.rebootOk]: 'true',
  [DRAIN]: JSON.stringify({ boot, since }),
});

describe('the agent', () => {
  it('says what its node runs and that it needs no reboot', () => {
    expect(plan(node({}, {}))).toMatchObject({
      kind: 'patch',
      patch: { metadata: { uid: 'u', resourceVersion: '7', annotations: IDLE_NODE, labels: LABELS } },
    });
    expect(plan(node(IDLE_NODE))).toEqual({ kind: 'none' });
  });

  it.each([
    [NEEDS_REBOOT, 'false', 'true'],
    ['UPDATE_STATUS_IDLE', 'true', 'false'],
  ])('says after status %s whether it needs a reboot', (status, before, needed) => {
    const action = plan(node({ ...IDLE_NODE, [NAMES.rebootNeeded]: before, [NAMES.status]: status }));
    expect(action).toMatchObject({
      kind: 'patch',
      patch: { metadata: { annotations: { [NAMES.rebootNeeded]: needed }, labels: { [NAMES.rebootNeeded]: needed } } },
    });
  });

  it('does not take its wish back when the reboot has been allowed', () => {
    const annotations = { ...IDLE_NODE, [NAMES.rebootNeeded]: 'true', [NAMES.rebootOk]: 'true' };
    expect(plan(node(annotations))).toMatchObject({ why: 'drains' });
  });

  it.each([
    [undefined, 'true'],
    [true, undefined],
  ] as const)('cordons the node when the reboot is allowed, and remembers that it did (before: %s)', (before, made) => {
    const allowed = { ...IDLE_NODE, [NAMES.rebootNeeded]: 'true', [NAMES.rebootOk]: 'true' };
    const action = plan(node(allowed, LABELS, before));
    const annotations = { [NAMES.rebootInProgress]: 'true', [DRAIN]: JSON.stringify({ boot: 'first', since: NOW }) };
    const of = made === undefined ? annotations : { ...annotations, [NAMES.madeUnschedulable]: made };
    expect(action).toMatchObject({ kind: 'patch', patch: { spec: { unschedulable: true } } });
    expect(action.kind === 'patch' ? action.patch.metadata.annotations : {}).toEqual(of);
  });

  it('evicts what must leave, and waits for what is ending', () => {
    const ending = pod('ending', { deletionTimestamp: 'now' });
    const daemon = pod('daemon', {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true }],
    });
    const staying = [
      daemon,
      pod('mirror', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
      pod('dns', { namespace: 'kube-system' }),
      pod('done', {}, 'Succeeded'),
      pod('failed', {}, 'Failed'),
    ];
    const web = pod('web');
    expect(plan(node(draining()), { pods: [...staying, web, ending] })).toEqual({
      kind: 'evict',
      pods: [web],
      remaining: [web, ending],
    });
    expect(plan(node(draining()), { pods: staying })).toEqual({ kind: 'reboot', remaining: [] });
  });

  it('reboots after the grace period, whatever is left', () => {
    const pods = [pod('web')];
    expect(plan(node(draining('first', NOW - 599_999)), { pods })).toMatchObject({ kind: 'evict' });
    expect(plan(node(draining('first', NOW - 600_000)), { pods })).toEqual({ kind: 'reboot', remaining: pods });
  });

  it('ends the reboot after another boot, and not before', () => {
    const after = { [NAMES.rebootInProgress]: 'false', [NAMES.rebootNeeded]: 'false', [DRAIN]: null };
    expect(plan(node(draining('before')))).toMatchObject({
      kind: 'patch',
      patch: {
        metadata: {
          annotations: { ...after, [NAMES.status]: 'UPDATE_STATUS_IDLE' },
          labels: { [NAMES.rebootNeeded]: 'false' },
        },
      },
    });
    expect(plan(node(draining()))).toMatchObject({ kind: 'reboot' });
  });

  it.each(['', '{', '1', '{"boot":1,"since":2}'])('begins to drain anew if the annotation is %j', (text) =>
    expect(plan(node({ ...draining(), [DRAIN]: text }))).toMatchObject({
      kind: 'patch',
      patch: { metadata: { annotations: { [DRAIN]: JSON.stringify({ boot: 'first', since: NOW }) } } },
    }),
  );

  it('takes pods again when the operator has ended the reboot, if it was the agent that cordoned the node', () => {
    const made = { ...IDLE_NODE, [NAMES.madeUnschedulable]: 'true' };
    expect(plan(node({ ...made, [NAMES.rebootOk]: 'true' }, LABELS, true))).toEqual({ kind: 'none' });
    expect(plan(node({ ...made, [NAMES.rebootOk]: 'false' }, LABELS, true))).toMatchObject({
      kind: 'patch',
      patch: { metadata: { annotations: { [NAMES.madeUnschedulable]: 'false' } }, spec: { unschedulable: null } },
    });
    expect(plan(node(IDLE_NODE, LABELS, true))).toEqual({ kind: 'none' });
  });
});

import { type Node, NODES, PODS } from '@gantry/objects';
import type { ObjectWrite } from '@gantry/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createNodeLifecycleController } from './controller.ts';

const GRACE_MS = 4000;
const KEY = { namespace: '', name: 'n' };

describe('the node lifecycle controller, overtaken by others', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let events: ControllerHarness['events'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  let meanwhile: (write: ObjectWrite) => Promise<void>;
  beforeEach(() => {
    ({ clock, client, stop, events, run: start } = createControllerHarness());
    meanwhile = async () => undefined;
  });

  const run = () => {
    const controllers = [createNodeLifecycleController({ graceMs: GRACE_MS })];
    start(controllers, { meanwhile: (write) => meanwhile(write) });
  };
  const putNode = (spec: NonNullable<Node['spec']>) =>
    client.put(NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', annotations: { 'node.alpha.kubernetes.io/ttl': '0' } },
      spec,
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }] },
    });
  const node = () => client.all(NODES)[0];
  const taints = () => node()?.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`) ?? [];
  const taintAsUser = async () => {
    const current = await client.get(NODES, KEY, stop.signal);
    const others = current.spec?.taints ?? [];
    const object: Node = {
      ...current,
      spec: { ...current.spec, taints: [...others, { key: 'dedicated', value: 'web', effect: 'NoSchedule' }] },
    };
    await client.update(NODES, object, stop.signal);
  };
  /** At the first own write that `isIt`, `act` comes first. */
  const once = (isIt: (write: ObjectWrite) => boolean, act: () => Promise<void>) => {
    let acted: 'no' | 'yes' = 'no';
    meanwhile = async (write) => {
      if (acted === 'yes' || !isIt(write)) return;
      acted = 'yes';
      await act();
    };
  };
  const isSpecPatch = (write: ObjectWrite) =>
    write.verb === 'patch' && write.resource.resource === 'nodes' && write.subresource === undefined;

  it('keeps the taint that a user adds to a node that it taints, and loses no time by it', async () => {
    await putNode({ unschedulable: true });
    once(isSpecPatch, taintAsUser);
    run();
    await clock.advance(1);
    expect(taints()).toEqual(['dedicated:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule']);
  });

  it('keeps the taint that a user adds between its writes of the status and of the taints', async () => {
    await putNode({});
    once(isSpecPatch, taintAsUser);
    run();
    await clock.advance(GRACE_MS + 10);
    expect(node()?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'Unknown' });
    expect(taints()).toEqual(['dedicated:NoSchedule', 'node.kubernetes.io/unreachable:NoSchedule']);
  });

  it('writes status, then taints, and does not conflict with itself', async () => {
    await putNode({});
    run();
    await clock.advance(GRACE_MS + 1000);
    const parts = client.writes.flatMap((write) =>
      write.verb === 'patch' && write.resource.resource === 'nodes' ? [write.subresource ?? 'spec'] : [],
    );
    expect(parts).toEqual(['status', 'spec']);
  });

  it('does not take for lost a node whose agent has just answered', async () => {
    await putNode({});
    const beat = async () => {
      const current = await client.get(NODES, KEY, stop.signal);
      const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:04Z' }];
      const object: Node = { ...current, status: { conditions } };
      await client.updateStatus(NODES, object, stop.signal);
    };
    once((write) => 'subresource' in write && write.subresource === 'status', beat);
    run();
    await clock.advance(GRACE_MS + 10);
    expect(node()?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'True' });
    expect(taints()).toEqual([]);
    await clock.advance(GRACE_MS + 10);
    expect(taints()).toEqual(['node.kubernetes.io/unreachable:NoSchedule']);
  });

  it('gets through to a node that others write all the time, and notices its silence in time', async () => {
    await putNode({});
    let labels = 0;
    const label = async () => {
      labels += 1;
      const patch = { metadata: { labels: { count: String(labels) } } };
      await client.patch(NODES, KEY, { merge: patch }, stop.signal);
    };
    meanwhile = async ({ resource }) => {
      if (resource.resource === 'nodes' && labels < 17) await label();
    };
    run();
    await clock.advance(GRACE_MS + 1000);
    expect(labels).toBe(17);
    expect(node()?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'Unknown' });
    expect(taints()).toEqual(['node.kubernetes.io/unreachable:NoSchedule']);
  });

  it('keeps what others say of a pod that it takes for unready', async () => {
    await putNode({});
    await client.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'a' },
      spec: { containers: [], nodeName: 'n' },
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'R' }] },
    });
    const gate = async () => {
      const patch = { status: { conditions: [{ type: 'example.org/gate', status: 'True' }] } };
      await client.patch(PODS, { namespace: 'a', name: 'p' }, { strategic: patch, subresource: 'status' }, stop.signal);
    };
    once(({ resource }) => resource.resource === 'pods', gate);
    run();
    await clock.advance(GRACE_MS + 1000);
    const conditions = client.all(PODS)[0]?.status?.conditions;
    expect(new Set(conditions?.map(({ type, status, reason }) => [type, status, reason].join()))).toEqual(
      new Set(['Ready,False,R', 'example.org/gate,True,']),
    );
    expect(events('Pod').map(({ count }) => count)).toEqual([1]);
  });
});

import type { ObjectWrite } from '@gantry/client';
import { NODES, type Pod, PODS } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createPodGcController } from './controller.ts';

const KEY = { namespace: 'a', name: 'p' };
/** This is longer than the controller waits before it deletes a pod. */
const LONG_MS = 60_000;

describe('the collector of pods', () => {
  let h: ControllerHarness;
  beforeEach(() => {
    h = createControllerHarness();
  });

  const pod = (nodeName: string): Promise<Pod> =>
    h.client.put<Pod>(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...KEY },
      spec: { containers: [], nodeName },
      status: { phase: 'Running' },
    });

  it('collects the pods of a node that is gone', async () => {
    await pod('gone');
    h.run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await h.clock.advance(LONG_MS);
    expect(h.client.all(PODS)).toEqual([]);
  });

  it('leaves the pods of a Node that its cache does not show', async () => {
    await pod('lives');
    const get = h.client.get.bind(h.client);
    let looks = 0;
    // The node is stored, but its event has not arrived.
    h.client.get = ((resource, key, signal) => {
      if (resource.resource !== 'nodes') return get(resource, key, signal);
      looks += 1;
      return Promise.resolve({ apiVersion: 'v1', kind: 'Node', metadata: { name: key.name } });
    }) as typeof h.client.get;
    h.run([createPodGcController(createMeters(createMetrics()).podGc)]);
    await h.clock.advance(LONG_MS);
    expect(looks).toBeGreaterThan(0);
    expect(h.client.all(PODS)).toMatchObject([{ status: { phase: 'Running' } }]);
    expect(h.client.all(NODES)).toEqual([]);
  });

  it('leaves a pod that has the name by now', async () => {
    await pod('gone');
    let acted: 'no' | 'yes' = 'no';
    const meanwhile = async (write: ObjectWrite) => {
      if (acted === 'yes' || write.verb !== 'delete') return;
      acted = 'yes';
      await h.client.delete(PODS, KEY, { gracePeriodSeconds: 0 }, h.stop.signal);
      await h.client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'lives' } });
      await pod('lives');
    };
    h.run([createPodGcController(createMeters(createMetrics()).podGc)], { meanwhile });
    await h.clock.advance(LONG_MS);
    expect(acted).toBe('yes');
    expect(h.client.all(PODS)).toMatchObject([{ spec: { nodeName: 'lives' } }]);
  });
});

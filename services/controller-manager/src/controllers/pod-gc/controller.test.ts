import { type Pod, PODS } from '@gantry/objects';
import type { ObjectWrite } from '@gantry/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createPodGcController } from './controller.ts';

const KEY = { namespace: 'a', name: 'p' };

describe('the collector of pods, overtaken by others', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  beforeEach(async () => {
    ({ clock, client, stop, run: start } = createControllerHarness());
    await client.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      // Held, so that what was written before its deletion can be seen.
      metadata: { ...KEY, finalizers: ['example.org/hold'] },
      spec: { containers: [], nodeName: 'gone' },
      status: { phase: 'Running', conditions: [{ type: 'example.org/gate', status: 'False' }] },
    });
  });

  /** Collects the pod while another client writes its status first. */
  const collectWhile = async (status: Pod['status']) => {
    let acted: 'no' | 'yes' = 'no';
    const meanwhile = async (write: ObjectWrite) => {
      if (acted === 'yes' || !('subresource' in write)) return;
      acted = 'yes';
      const current = await client.get(PODS, KEY, stop.signal);
      const object = { ...current, status } as Pod;
      await client.updateStatus(PODS, object, stop.signal);
    };
    start([createPodGcController()], { meanwhile });
    await clock.advance(6000);
    return client.all(PODS)[0];
  };

  it('leaves a pod that has ended meanwhile its end', async () => {
    const pod = await collectWhile({ phase: 'Succeeded' });
    expect(pod?.status).toEqual({ phase: 'Succeeded' });
    expect(pod?.metadata.deletionTimestamp).toBeDefined();
  });

  it('keeps what others say of a pod', async () => {
    const gate = { type: 'example.org/gate', status: 'True' };
    const pod = await collectWhile({ phase: 'Running', conditions: [gate] });
    expect(pod?.status?.phase).toBe('Failed');
    expect(pod?.status?.conditions).toContainEqual(expect.objectContaining(gate));
    expect(pod?.metadata.deletionTimestamp).toBeDefined();
  });
});

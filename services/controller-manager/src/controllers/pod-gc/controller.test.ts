import type { Pod } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runOvertaken } from '../../testing/run-overtaken.ts';
import { PODS } from '../resources.ts';
import { createPodGcController } from './controller.ts';

const KEY = { namespace: 'a', name: 'p' };

describe('the collector of pods, overtaken by others', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let stop: AbortController;
  beforeEach(async () => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    stop = new AbortController();
    await client.put<Pod>(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      // Held, so that what was written before its deletion can be seen.
      metadata: { ...KEY, finalizers: ['example.org/hold'] },
      spec: { containers: [], nodeName: 'gone' },
      status: { phase: 'Running', conditions: [{ type: 'example.org/gate', status: 'False' }] },
    });
  });
  afterEach(() => stop.abort());

  /** Collects the pod, whose status somebody else writes just before the collector does. */
  const collectWhile = async (status: Pod['status']) => {
    let acted: 'no' | 'yes' = 'no';
    const meanwhile = async (write: ObjectWrite) => {
      if (acted === 'yes' || !('subresource' in write)) return;
      acted = 'yes';
      const current = await client.get<Pod>(PODS, KEY, stop.signal);
      const object = { ...current, status } as Pod;
      await client.write({ verb: 'update', resource: PODS, key: KEY, object, subresource: 'status' }, stop.signal);
    };
    runOvertaken({ controllers: [createPodGcController()], client, clock, meanwhile }, stop.signal);
    await clock.advance(6000);
    return client.all<Pod>(PODS)[0];
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

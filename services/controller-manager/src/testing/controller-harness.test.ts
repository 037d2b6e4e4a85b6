import type { ControllerSpec } from '@gantry/controller-runtime';
import { CONFIG_MAPS } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createControllerHarness } from './controller-harness.ts';

const MAP = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } };

/** A controller whose watch throws. */
const broken = (asked: () => void): ControllerSpec => ({
  name: 'broken',
  eventSource: 'broken',
  watches: [
    {
      resource: CONFIG_MAPS,
      keys: () => {
        asked();
        throw new TypeError('a watch that throws');
      },
    },
  ],
  reconcile: async () => ({}),
});

describe('a test fails whose controller has a watch that throws', () => {
  it.fails('on an object that is there', async () => {
    const { client, run } = createControllerHarness();
    await client.put(CONFIG_MAPS, MAP);
    const asked = Promise.withResolvers<void>();
    run([broken(asked.resolve)]);
    await asked.promise;
  });

  it.fails('on an object that comes', async () => {
    const { client, events, run } = createControllerHarness();
    const asked = Promise.withResolvers<void>();
    run([broken(asked.resolve)]);
    await expect.poll(() => events()).toEqual([]);
    await client.put(CONFIG_MAPS, MAP);
    await asked.promise;
  });
});

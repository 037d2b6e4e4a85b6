import { cloneJson, type KubeObject } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exampleControllers, lead, SETTLED_MS, writesOf } from './testing/example-controllers.ts';
import { createControllerHarness } from './testing/controller-harness.ts';
import { EXAMPLE_WORLD } from './testing/example-world.ts';

/** What happens to an object of the example world before controllers see it. These are the effects of lost, late and repeated events. */
const FATES = [
  'as it is',
  'as it is',
  'missing',
  'without status',
  'being deleted',
  'without labels',
  'without owner',
] as const;
type Fate = (typeof FATES)[number];

function changed(object: KubeObject, fate: Fate): KubeObject | undefined {
  const copy = cloneJson(object) as KubeObject & { status?: unknown };
  const { metadata } = copy;
  switch (fate) {
    case 'as it is':
      return copy;
    case 'missing':
      return undefined;
    case 'without status':
      delete copy.status;
      return copy;
    case 'being deleted': {
      const finalizers = [...(metadata.finalizers ?? []), 'example.org/stays'];
      const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 };
      return { ...copy, metadata: { ...metadata, ...deletion, finalizers } };
    }
    case 'without labels': {
      const { labels: _, ...rest } = metadata;
      return { ...copy, metadata: rest };
    }
    case 'without owner': {
      const { ownerReferences: _, ...rest } = metadata;
      return { ...copy, metadata: rest };
    }
  }
}

const worlds = fc.array(fc.constantFrom(...FATES), {
  minLength: EXAMPLE_WORLD.length,
  maxLength: EXAMPLE_WORLD.length,
});

describe.each(exampleControllers().map(({ name }) => name))('the controller %s', (name) => {
  it('comes to rest in every world, and another leader finds nothing to do there', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (fates) => {
        const harness = createControllerHarness();
        for (const [i, [resource, object]] of EXAMPLE_WORLD.entries()) {
          const one = changed(object, fates[i] ?? 'as it is');
          if (one !== undefined) await harness.client.put(resource, one);
        }
        await lead(harness, name, 3 * SETTLED_MS);
        const first = writesOf(harness).length;
        await lead(harness, name);
        expect(writesOf(harness).slice(first)).toEqual([]);
        harness.stop.abort();
      }),
      { seed: 20260101, numRuns: 5 },
    );
  });
});

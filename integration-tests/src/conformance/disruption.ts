import type { V1PodDisruptionBudget } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { type Proof, proof } from './world.ts';

const PROCESSED_MS = 60_000;

type Budgets = Resource<V1PodDisruptionBudget>;

function budget(name: string, labels: Record<string, string> = {}): V1PodDisruptionBudget {
  return { metadata: { name, labels }, spec: { minAvailable: 1, selector: { matchLabels: { foo: 'bar' } } } };
}

/** Waits until the controller has seen the budget as it is now. */
async function untilProcessed(budgets: Budgets, name: string): Promise<V1PodDisruptionBudget> {
  return await eventually(`the budget ${name} is processed`, PROCESSED_MS, async () => {
    const found = await budgets.get(name);
    return (found.status?.observedGeneration ?? 0) >= (found.metadata?.generation ?? 1) ? found : undefined;
  });
}

export const DISRUPTION_PROOFS: readonly Proof[] = [
  proof('[sig-apps] DisruptionController should create a PodDisruptionBudget [Conformance]', async (world) => {
    const budgets: Budgets = new Resource(world.cluster, KINDS.PodDisruptionBudget, await world.namespace());
    await budgets.create(budget('foo'));
    const created = await untilProcessed(budgets, 'foo');
    expect(created.status).toMatchObject({ currentHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 });

    await retryOnConflict(async () => {
      const found = await budgets.get('foo');
      return await budgets.replace({ ...found, spec: { ...found.spec, minAvailable: '2%' } });
    });
    expect((await untilProcessed(budgets, 'foo')).spec?.minAvailable).toBe('2%');

    await budgets.patch('foo', 'merge', { spec: { minAvailable: '3%' } });
    const patched = await untilProcessed(budgets, 'foo');
    expect(patched.spec?.minAvailable).toBe('3%');
    expect(patched.metadata?.generation).toBe(3);

    await budgets.delete('foo');
    expect((await budgets.list()).items).toEqual([]);
  }),

  proof(
    '[sig-apps] DisruptionController Listing PodDisruptionBudgets for all namespaces should list and delete a collection of PodDisruptionBudgets [Conformance]',
    async (world) => {
      const labels = { conformance: world.unique('budgets') };
      const selection = { labelSelector: `conformance=${labels.conformance}` };
      const [first, second] = [await world.namespace(), await world.namespace()].map(
        (namespace): Budgets => new Resource(world.cluster, KINDS.PodDisruptionBudget, namespace),
      );
      if (first === undefined || second === undefined) throw new Error('no namespaces');
      for (const [budgets, name] of [
        [first, 'foo'],
        [first, 'foo2'],
        [second, 'foo'],
      ] as const) {
        await budgets.create(budget(name, labels));
        await untilProcessed(budgets, name);
      }
      const names = async () =>
        (await first.listAll(selection)).items.map(({ metadata }) => metadata?.name ?? '').toSorted();
      expect(await names()).toEqual(['foo', 'foo', 'foo2']);
      await first.deleteCollection(selection);
      expect(await names()).toEqual(['foo']);
    },
  ),
];

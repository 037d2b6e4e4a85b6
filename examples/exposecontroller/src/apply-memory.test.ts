import { CONFIG_MAPS, type ConfigMap, type KubeObject } from '@gantry/operator';
import { expect, it } from 'vitest';
import { ApplyMemory } from './apply-memory.ts';

const live = (data: Record<string, string>, uid = 'u'): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'one', namespace: 'a', uid },
  data,
});
const wanted = (data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'one', namespace: 'a' },
  data,
});

it('applies what is new or differs, or was last applied otherwise, and nothing else', async () => {
  const memory = new ApplyMemory();
  const sent: KubeObject[] = [];
  const client = {
    apply: async (_: unknown, configuration: KubeObject) => {
      sent.push(configuration);
      return live({}) as never;
    },
  };
  const applies = async (of: ConfigMap | undefined, configuration: ConfigMap): Promise<boolean> => {
    sent.length = 0;
    await memory.apply(CONFIG_MAPS, of, configuration, client, new AbortController().signal);
    return sent.length > 0;
  };
  const both = { a: '1', b: '2' };
  expect(await applies(undefined, wanted(both)), 'it does not exist').toBe(true);
  expect(await applies(live({ ...both, other: 'x' }), wanted(both)), 'it has all').toBe(false);
  expect(await applies(live({ a: '1' }), wanted(both)), 'somebody took a field away').toBe(true);
  expect(await applies(live({ a: '1', b: '3' }), wanted(both)), 'somebody changed a field').toBe(true);
  expect(await applies(live(both), wanted({ a: '1' })), 'a field is no longer wanted').toBe(true);
  expect(await applies(live(both, 'v'), wanted({ a: '1' })), 'it was created again').toBe(true);
  expect(await applies(live(both), wanted({ a: '1' })), 'nothing differs').toBe(false);
  memory.clear();
  expect(await applies(live(both), wanted({ a: '1' })), 'nothing is known any more').toBe(true);
});

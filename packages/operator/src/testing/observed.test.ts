import { describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, declare, indexBy, PODS, SECRETS } from '../index.ts';
import { observed } from './index.ts';

const object = (name: string, namespace = 'a', labels: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
});
const secret = { ...object('s'), kind: 'Secret' };
const BY_LABEL = indexBy(CONFIG_MAPS, ({ metadata }) => Object.values(metadata.labels ?? {}));

describe('what a declared controller observes in a unit test', () => {
  const { owned, cache, now } = observed(object('one'), {
    now: 5,
    owned: [object('two', 'a', { app: 'x' }), secret],
    others: [object('two', 'b', { app: 'x' })],
  });

  it('has owned objects by resource', () => {
    expect(owned(CONFIG_MAPS).map(({ metadata }) => metadata.name)).toEqual(['two']);
    expect(owned(SECRETS)).toEqual([secret]);
    expect(owned(PODS)).toEqual([]);
    expect(now).toBe(5);
  });

  it('has all objects in the cache', () => {
    expect(cache.get(CONFIG_MAPS, { namespace: 'a', name: 'one' })).toEqual(object('one'));
    expect(cache.get(CONFIG_MAPS, { namespace: 'b', name: 'one' })).toBeUndefined();
    expect(cache.list(CONFIG_MAPS)).toHaveLength(3);
    expect(cache.list(CONFIG_MAPS, 'b')).toEqual([object('two', 'b', { app: 'x' })]);
    expect(cache.labelled(CONFIG_MAPS, 'a', { app: 'x' }).map(({ metadata }) => metadata.name)).toEqual(['two']);
    expect(cache.labelled(CONFIG_MAPS, 'a', { app: 'y' })).toEqual([]);
    expect(cache.indexed(BY_LABEL, 'x')).toHaveLength(2);
  });

  it('is what `desire` of the controller takes', () => {
    const controller = declare({
      name: 'copies',
      for: CONFIG_MAPS,
      owns: [SECRETS],
      desire: ({ object: { metadata }, owned: of }) => ({ objects: of(SECRETS), requeueAt: Number(metadata.name) }),
    });
    expect(controller.desire(observed(object('7'), { now: 5, owned: [secret] }))).toEqual({
      objects: [secret],
      requeueAt: 7,
    });
  });
});

import { CONFIG_MAPS, type ConfigMap, type KubeObject, type Resource, StatusError } from '@gantry/objects';
import type { ListOptions, ObjectList, ObjectReader } from '@gantry/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { unmanagedReader } from './metadata-reader.ts';

const SERVED = 1200;
const configMap = (index: number): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `c${index}`, namespace: 'a', managedFields: [{ manager: 'kubectl', operation: 'Apply' }] },
});

describe('a list without managed fields', () => {
  let asked: ListOptions[];
  /** The error of the second page. */
  let refused: Error | undefined;
  beforeEach(() => {
    asked = [];
    refused = undefined;
  });
  const client: Pick<ObjectReader, 'list'> = {
    list: async <T extends KubeObject>(_: Resource<T>, options: ListOptions): Promise<ObjectList<T>> => {
      asked.push(options);
      const { limit = 0, continueToken = '' } = options;
      if (continueToken !== '' && refused !== undefined) throw refused;
      const from = Number(continueToken);
      const end = limit === 0 ? SERVED : Math.min(from + limit, SERVED);
      const items = Array.from({ length: end - from }, (_one, index) => configMap(from + index) as KubeObject as T);
      return { items, resourceVersion: '7', continueToken: end === SERVED ? '' : String(end) };
    },
  };
  const list = (options: ListOptions = {}) =>
    unmanagedReader(client as ObjectReader).list(CONFIG_MAPS, options, new AbortController().signal);

  it('is read in pages, and only the first one has a version', async () => {
    const { items, resourceVersion, continueToken } = await list({ namespace: 'a', resourceVersion: '5' });
    expect(items.map(({ metadata }) => metadata)).toEqual(
      Array.from({ length: SERVED }, (_, index) => ({ name: `c${index}`, namespace: 'a' })),
    );
    expect([resourceVersion, continueToken]).toEqual(['7', '']);
    expect(asked).toEqual([
      { namespace: 'a', resourceVersion: '5', limit: 500 },
      { namespace: 'a', resourceVersion: '', limit: 500, continueToken: '500' },
      { namespace: 'a', resourceVersion: '', limit: 500, continueToken: '1000' },
    ]);
  });

  it('is read at once when the version of its pages has expired', async () => {
    refused = StatusError.expired('too old resource version');
    const { items } = await list({ resourceVersion: '5' });
    expect(items).toHaveLength(SERVED);
    expect(asked.at(-1)).toEqual({ resourceVersion: '5', limit: 0 });
  });

  it('fails for another error of a page', async () => {
    refused = StatusError.unavailable('away');
    await expect(list()).rejects.toBe(refused);
  });
});

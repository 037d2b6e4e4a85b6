import { CONFIG_MAPS, type ConfigMap, PODS } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { admit } from '../testing/index.ts';
import { mutating, validating } from './admission.ts';

const configMap = (data: Record<string, string>, labels?: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'a', ...(labels === undefined ? {} : { labels }) },
  data,
});
const { signal } = new AbortController();
const webhook = { name: 'v.config-maps.example.com', for: CONFIG_MAPS };

describe('a validating webhook', () => {
  const grows = validating({
    ...webhook,
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    validate: (request) => {
      if (request.operation === 'DELETE') return { denied: `kept for ${request.user.username}` };
      const least = request.operation === 'UPDATE' ? Object.keys(request.old.data ?? {}).length : 1;
      const { data = {} } = request.object;
      if (Object.keys(data).length < least) return { denied: `data: has fewer than ${least} keys` };
      return 'old' in data ? { warnings: ['data.old is deprecated'] } : {};
    },
  });

  it('allows, warns and refuses', async () => {
    expect(await admit(grows, { operation: 'CREATE', object: configMap({ old: 'x' }) })).toEqual({
      warnings: ['data.old is deprecated'],
      object: configMap({ old: 'x' }),
    });
    const shrunk = { operation: 'UPDATE', old: configMap({ a: '', b: '' }), object: configMap({ a: '' }) } as const;
    expect((await admit(grows, shrunk)).denied).toBe('data: has fewer than 2 keys');
    const user = { username: 'jane' };
    expect((await admit(grows, { operation: 'DELETE', old: configMap({}), user })).denied).toBe('kept for jane');
  });

  it('refuses reviews that lack the object', async () => {
    await expect(grows.review({ operation: 'CREATE' }, signal)).rejects.toThrow('request.object: is no object');
    await expect(grows.review({ operation: 'CONNECT' }, signal)).rejects.toThrow('request.operation: "CONNECT"');
  });

  it('names the field of options that cannot be used', () => {
    const validate = () => ({});
    expect(() => validating({ ...webhook, name: 'short.com', validate })).toThrow(
      'name: "short.com" must be a DNS name',
    );
    expect(() => validating({ ...webhook, timeoutSeconds: 31, validate })).toThrow(
      'timeoutSeconds: must be an integer',
    );
    expect(() => validating({ ...webhook, operations: [], validate })).toThrow('operations: there is none');
  });

  it('is asked about writes of its resource in any version', () => {
    const { entry } = validating({
      name: 'p.pods.example.com',
      for: PODS,
      subresource: 'status',
      validate: () => ({}),
    });
    expect(entry).toMatchObject({
      rules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/status'] }],
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      failurePolicy: 'Fail',
    });
  });
});

describe('a mutating webhook', () => {
  const mutate = (change: (object: ConfigMap) => ConfigMap) =>
    mutating({ ...webhook, mutate: ({ object }) => change(object) });
  const changed = async (change: (object: ConfigMap) => ConfigMap, object: ConfigMap) =>
    (await admit(mutate(change), { operation: 'CREATE', object })).object;

  it('adds, replaces and removes fields, whatever their names', async () => {
    const change = ({ data: _data, ...rest }: ConfigMap): ConfigMap => ({
      ...rest,
      metadata: { ...rest.metadata, labels: { 'example.com/a~b': 'new' } },
      binaryData: { x: 'eA==' },
    });
    const object = configMap({ a: '1' }, { 'example.com/a~b': 'old', other: 'x' });
    expect(await changed(change, object)).toEqual({
      ...change(object),
    });
  });

  it('may change its argument', async () => {
    const change = (object: ConfigMap): ConfigMap => {
      (object.data ??= {})['a'] = 'changed';
      return object;
    };
    expect(await changed(change, configMap({ a: '' }))).toEqual(configMap({ a: 'changed' }));
  });

  it('sends no patch when nothing changes', async () => {
    expect(await mutate((object) => object).review({ operation: 'CREATE', object: configMap({}) }, signal)).toEqual({
      allowed: true,
    });
  });

  it('must not change its own result', async () => {
    const grow = ({ data = {}, ...rest }: ConfigMap) => ({ ...rest, data: { a: `${data['a'] ?? ''}x` } });
    await expect(changed(grow, configMap({}))).rejects.toThrow('v.config-maps.example.com is not idempotent');
  });
});

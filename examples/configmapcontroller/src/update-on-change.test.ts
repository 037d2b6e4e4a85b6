import type { ConfigMap, Deployment } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { listedConfigMaps, rollingPatch } from './update-on-change.ts';

const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'a' },
  data,
});
const deployment = (listed: string | undefined, ...containers: { name: string; env?: object[] }[]): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    namespace: 'a',
    uid: 'u',
    resourceVersion: '7',
    ...(listed === undefined ? {} : { annotations: { 'configmap.fabric8.io/update-on-change': listed } }),
  },
  spec: { selector: {}, template: { spec: { containers: containers as { name: string }[] } } },
});
/** SHA-256 of `a=1;b=2`. */
const HASH = 'AQLMWa-DWdqd4i0439EvrV5iYvpCYwngonOlPCvJ2X0=';
const env = (name: string, value: string) => ({ name: `FABRIC8_${name}_CONFIGMAP`, value });

describe('the annotation', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['settings', ['settings']],
    ['settings,flags,settings', ['settings', 'flags']],
    [' settings , flags ,', ['settings', 'flags']],
  ])('%j lists %j', (text, names) => expect(listedConfigMaps(deployment(text))).toEqual(names));
});

describe('the patch', () => {
  it('sets the variable in every container, for the version that was read', () => {
    const patch = rollingPatch(deployment('s', { name: 'one' }, { name: 'two' }), [configMap('s', { b: '2', a: '1' })]);
    const container = { env: [env('S', HASH)] };
    const containers = [
      { name: 'one', ...container },
      { name: 'two', ...container },
    ];
    expect(patch).toEqual({
      metadata: { uid: 'u', resourceVersion: '7' },
      spec: { template: { spec: { containers } } },
    });
  });

  it('is none when the containers have the variables', () => {
    const current = deployment('s', { name: 'one', env: [env('S', HASH), { name: 'OTHER', value: 'x' }] });
    expect(rollingPatch(current, [configMap('s', { a: '1', b: '2' })])).toBeUndefined();
    expect(rollingPatch(deployment('s', { name: 'one' }), [])).toBeUndefined();
  });

  it('has only the containers and variables that differ', () => {
    const current = deployment('s,t', { name: 'one', env: [env('S', HASH)] }, { name: 'two', env: [env('S', 'old')] });
    const patch = rollingPatch(current, [configMap('s', { a: '1', b: '2' })]);
    expect(patch).toMatchObject({
      spec: { template: { spec: { containers: [{ name: 'two', env: [env('S', HASH)] }] } } },
    });
  });

  it('gives each ConfigMap its own hash', () => {
    const patch = JSON.stringify(
      rollingPatch(deployment('s,t', { name: 'one' }), [configMap('s', { a: '1', b: '2' }), configMap('t')]),
    );
    expect(patch).toContain(JSON.stringify(env('S', HASH)));
    // SHA-256 of nothing.
    expect(patch).toContain(JSON.stringify(env('T', '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=')));
  });

  it('makes a name in upper case, with one underscore for other characters', () => {
    expect(JSON.stringify(rollingPatch(deployment('', { name: 'one' }), [configMap('my.app--settings-2')]))).toContain(
      '"FABRIC8_MY_APP_SETTINGS_2_CONFIGMAP"',
    );
  });

  it('notices a change of either ConfigMap whose names share a variable, and of binary data', () => {
    const patch = (...of: ConfigMap[]) => JSON.stringify(rollingPatch(deployment('', { name: 'one' }), of));
    const before = patch(configMap('a.b', { k: '1' }), configMap('a-b', { k: '1' }));
    expect(patch(configMap('a-b', { k: '1' }), configMap('a.b', { k: '1' }))).toBe(before);
    expect(patch(configMap('a.b', { k: '2' }), configMap('a-b', { k: '1' }))).not.toBe(before);
    expect(patch(configMap('a.b', { k: '1' }), configMap('a-b', { k: '2' }))).not.toBe(before);
    expect(patch({ ...configMap('a'), binaryData: { k: 'AA==' } })).not.toBe(patch(configMap('a')));
  });
});

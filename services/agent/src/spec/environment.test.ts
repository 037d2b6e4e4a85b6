import { describe, expect, it } from 'vitest';
import type { Container } from '@gantry/objects';
import { container, nodeFacts, pod } from '../testing/pods.ts';
import type { ConfigSource } from './config-source.ts';
import { containerEnvironment } from './environment.ts';

const signal = new AbortController().signal;
const BYTES = { latin: Buffer.from([0x61, 0xe9]).toString('base64'), nul: Buffer.from('a\0b').toString('base64') };

describe('a container’s variables', () => {
  const source: ConfigSource = {
    configMap: async (_namespace, name) =>
      name === 'settings' ? { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { mode: 'fast' } } : undefined,
    trustBundles: async () => [],
    secret: async (_namespace, name) =>
      name === 'keys' || name === 'bytes'
        ? {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: {},
            data: { token: 'c2VjcmV0', ...(name === 'bytes' ? BYTES : {}) },
          }
        : undefined,
  };
  /** The files of volumes that were read. */
  const reads: string[] = [];
  const facts = nodeFacts(4000, { nodeName: 'node-a', nodeAddress: '10.0.0.1' });
  const resolve = (change: Partial<Container>) =>
    containerEnvironment(
      container('main', change),
      {
        pod: pod({ volumes: [{ name: 'files', emptyDir: {} }] }, {}, { labels: { app: 'x' } }),
        podAddress: '10.0.0.9',
        facts,
        source,
        volumeText: async (volume, path) => {
          reads.push(`${volume}/${path}`);
          return reads.at(-1) === 'files/a/env' ? "ONE='1'\nTWO='2'\n" : undefined;
        },
        base: { BASE: 'b' },
      },
      signal,
    ).then((variables) => Object.fromEntries(variables));

  it('read a file once, however many of them come from it', async () => {
    const fromFile = (name: string, key: string) => ({
      name,
      valueFrom: { fileKeyRef: { volumeName: 'files', path: 'a/env', key } },
    });
    reads.length = 0;
    const env = [fromFile('A', 'ONE'), fromFile('B', 'TWO'), fromFile('C', 'ONE')];
    expect(await resolve({ env })).toMatchObject({ A: '1', B: '2', C: '1' });
    expect(reads).toEqual(['files/a/env']);
  });

  it('do not have a value that is replaced, whatever its bytes', async () => {
    const envFrom = [{ secretRef: { name: 'bytes' } }];
    await expect(resolve({ envFrom })).rejects.toThrow('key latin in Secret default/bytes is not UTF-8 text');
    const env = ['latin', 'nul'].map((name) => ({ name, value: `own ${name}` }));
    expect(await resolve({ envFrom, env })).toMatchObject({ latin: 'own latin', nul: 'own nul', token: 'secret' });
  });

  const value = (name: string, text: string) => ({ name, value: text });

  it('are refused as soon as they are more than a program can get, with the size', async () => {
    const doubling = Array.from({ length: 40 }, (_, i) => value(`A${i + 1}`, `$(A${i})$(A${i})`));
    await expect(resolve({ env: [value('A0', 'x'), ...doubling] })).rejects.toMatchObject({
      code: 'CreateContainerConfigError',
      message: 'variable A17 has 131076 bytes; a program gets at most 131071 in one',
    });
    const many = Array.from({ length: 20 }, (_, i) => value(`B${i}`, '$(A)'));
    await expect(resolve({ env: [value('A', 'x'.repeat(120_000)), ...many] })).rejects.toThrow(
      'with variable B16, arguments and variables take 2160',
    );
    // The same name again and again costs as much.
    const again = Array.from({ length: 20 }, () => value('B', '$(A)'));
    await expect(resolve({ env: [value('A', 'x'.repeat(120_000)), ...again] })).rejects.toThrow('with variable B,');
  });

  it('are refused with a prefix that is too long for all keys', async () => {
    const envFrom = Array.from({ length: 30 }, (_, i) => ({
      prefix: `${i}${'P'.repeat(100_000)}`,
      configMapRef: { name: 'settings' },
    }));
    await expect(resolve({ envFrom })).rejects.toThrow(
      /^with variable 20P{89}, arguments and variables take 2\d{6} bytes/,
    );
    const refs = envFrom.map(({ prefix }) => ({ prefix, secretRef: { name: 'bytes' } }));
    await expect(resolve({ envFrom: refs })).rejects.toThrow(/^with variable /);
  });

  it('read an object once, however many of them come from it', async () => {
    const reads: string[] = [];
    const counting: ConfigSource = {
      ...source,
      configMap: (namespace, name, abort) => {
        reads.push(name);
        return source.configMap(namespace, name, abort);
      },
    };
    const env = Array.from({ length: 50 }, (_, i) => ({
      name: `A${i}`,
      valueFrom: { configMapKeyRef: { name: `${i % 2 === 0 ? 'settings' : 'none'}`, key: 'mode', optional: true } },
    }));
    const context = { pod: pod(), podAddress: '', facts, volumeText: async () => undefined, base: {} };
    await containerEnvironment(container('main', { env }), { ...context, source: counting }, signal);
    expect(reads).toEqual(['settings', 'none']);
  });

  it('read of an object only the keys that they name', async () => {
    const read: string[] = [];
    const keys = Array.from({ length: 100 }, (_, i) => `key${i}`);
    const data = Object.defineProperties(
      {},
      Object.fromEntries(keys.map((key) => [key, { enumerable: true, get: () => `${read.push(key)}` }])),
    );
    const object = { apiVersion: 'v1', metadata: {}, data };
    const many: ConfigSource = {
      ...source,
      configMap: async () => ({ ...object, kind: 'ConfigMap' }),
      secret: async () => ({ ...object, kind: 'Secret' }),
    };
    const env = Array.from({ length: 50 }, (_, i) => ({
      name: `A${i}`,
      valueFrom: {
        [i % 2 === 0 ? 'configMapKeyRef' : 'secretKeyRef']: { name: 'many', key: 'toString', optional: true },
      },
    }));
    env.push({ name: 'B', valueFrom: { configMapKeyRef: { name: 'many', key: 'key7', optional: false } } });
    const context = { pod: pod(), podAddress: '', facts, volumeText: async () => undefined, base: {} };
    const variables = await containerEnvironment(container('main', { env }), { ...context, source: many }, signal);
    expect(Object.fromEntries(variables)).toEqual({ B: '1' });
    expect(read).toEqual(['key7']);
  });

  it('are refused with values that are no text when they are more than a program can get', async () => {
    const bytes = Buffer.alloc(90_000, 0xe9).toString('base64');
    const large: ConfigSource = {
      ...source,
      secret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { bytes } }),
    };
    const envFrom = Array.from({ length: 1000 }, () => ({ secretRef: { name: 'large' } }));
    const context = { pod: pod(), podAddress: '', facts, volumeText: async () => undefined, base: {} };
    const env = [{ name: 'bytes', value: '' }];
    await expect(
      containerEnvironment(container('main', { env, envFrom }), { ...context, source: large }, signal),
    ).rejects.toThrow('with variable bytes, arguments and variables take 2160');
  });

  it('come from all sources, later ones winning', async () => {
    expect(
      await resolve({
        envFrom: [
          { prefix: 'P_', configMapRef: { name: 'settings' } },
          { secretRef: { name: 'keys' } },
          { configMapRef: { name: 'none', optional: true } },
        ],
        env: [
          { name: 'PLAIN', value: '$(BASE)-$(P_mode)-$(LATER)' },
          { name: 'LATER', value: 'l' },
          { name: 'FROM_MAP', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } },
          { name: 'FROM_SECRET', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
          { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'keys', key: 'none', optional: true } } },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'FROM_FILE', valueFrom: { fileKeyRef: { volumeName: 'files', path: 'a/env', key: 'TWO' } } },
          {
            name: 'NOT_IN_FILE',
            valueFrom: { fileKeyRef: { volumeName: 'files', path: 'a/env', key: 'SIX', optional: true } },
          },
          { name: 'BASE', value: 'own' },
        ],
      }),
    ).toEqual({
      BASE: 'own',
      P_mode: 'fast',
      token: 'secret',
      PLAIN: 'b-fast-$(LATER)',
      LATER: 'l',
      FROM_MAP: 'fast',
      FROM_SECRET: 'secret',
      FROM_FILE: '2',
      POD: 'web',
      LABEL: 'x',
      IP: '10.0.0.9',
      CPUS: '4',
    });
  });

  it.each([
    [{ envFrom: [{ secretRef: { name: 'none' } }] }, 'secret "none" not found'],
    [
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'none', key: 'k' } } }] },
      'configmap "none" not found',
    ],
    [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] },
      "couldn't find key k in Secret default/keys",
    ],
    [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'constructor' } } }] },
      "couldn't find key constructor in Secret default/keys",
    ],
    [
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'none', path: 'a/env', key: 'ONE' } } }] },
      'cannot find the volume "none" referenced by FileKeyRef',
    ],
    [
      {
        env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'files', path: 'b', key: 'ONE', optional: true } } }],
      },
      "couldn't parse env file",
    ],
    [
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'files', path: 'a/env', key: 'SIX' } } }] },
      'environment variable key "SIX" not found in file "a/env"',
    ],
  ])('%j fail with kubelet’s words', async (change, message) => {
    await expect(resolve(change)).rejects.toMatchObject({ code: 'CreateContainerConfigError', message });
  });

  it('are refused with bytes that a variable cannot have, and only where these are used', async () => {
    const fromKey = (key: string) => ({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'bytes', key, optional: true } } }],
    });
    expect(await resolve(fromKey('token'))).toMatchObject({ A: 'secret' });
    const refused = (what: string) => ({
      code: 'CreateContainerConfigError',
      message: `${what}, which no environment variable can have: mount it as a file`,
    });
    await expect(resolve(fromKey('latin'))).rejects.toMatchObject(
      refused('key latin in Secret default/bytes is not UTF-8 text'),
    );
    await expect(resolve(fromKey('nul'))).rejects.toMatchObject(
      refused('key nul in Secret default/bytes contains a NUL'),
    );
    await expect(resolve({ envFrom: [{ secretRef: { name: 'bytes' } }] })).rejects.toMatchObject(
      refused('key latin in Secret default/bytes is not UTF-8 text'),
    );
  });
});

import { mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { writeAtomically } from './atomic-folder.ts';
import { type FileVolume, type VolumeContext, volumeFiles } from './volume-files.ts';

const signal = new AbortController().signal;

describe('a folder that changes at one moment', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-volume-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const file = (path: string, text: string, mode = 0o644) => ({ path, content: Buffer.from(text), mode });

  it('shows files through one link, and only the new ones after a change', async () => {
    await writeAtomically(folder, [file('a', '1'), file('deep/b', '2', 0o400)], 'v1');
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('1');
    expect((await stat(join(folder, 'deep/b'))).mode & 0o777).toBe(0o400);
    await writeAtomically(folder, [file('a', '3'), file('c', '4')], 'v2');
    expect((await readdir(folder)).filter((name) => !name.startsWith('..')).sort()).toEqual(['a', 'c']);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('3');
    expect(await readdir(folder)).not.toContain('..v1');
  });

  it('does nothing for equal content', async () => {
    await writeAtomically(folder, [file('a', '1')], 'v1');
    await writeAtomically(folder, [file('a', '1')], 'v2');
    expect(await readlink(join(folder, '..data'))).toBe('..v1');
  });
});

describe('the files of a volume', () => {
  const context: VolumeContext = {
    pod: pod({}, {}, { labels: { app: 'x' } }),
    podAddress: '10.0.0.9',
    facts: { nodeName: 'n', hostAddress: 'h', cpus: 1, memoryBytes: 1 },
    source: {
      configMap: async (_namespace, name) =>
        name === 'kube-root-ca.crt'
          ? { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { 'ca.crt': 'CA' }, binaryData: { raw: 'AQI=' } }
          : undefined,
      secret: async () => undefined,
    },
    token: async ({ audience = '' }) => `token for ${audience}`,
  };
  const files = async (volume: FileVolume) =>
    Object.fromEntries(
      (await volumeFiles(volume, context, signal)).map(({ path, content, mode }) => [
        path,
        `${mode.toString(8)} ${Buffer.from(content).toString('latin1')}`,
      ]),
    );

  it('project the service account as the admission asks for it', async () => {
    const sources = [
      { serviceAccountToken: { path: 'token', audience: 'api' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
    ];
    expect(await files({ name: 'v', projected: { sources, defaultMode: 0o600 } })).toEqual({
      token: '600 token for api',
      'ca.crt': '600 CA',
      namespace: '600 default',
    });
  });

  it('hold text and bytes of a ConfigMap', async () => {
    expect(await files({ name: 'v', configMap: { name: 'kube-root-ca.crt' } })).toEqual({
      'ca.crt': '644 CA',
      raw: '644 \u0001\u0002',
    });
  });

  it.each<[FileVolume, string]>([
    [{ name: 'v', configMap: { name: 'none' } }, 'configmap "none" not found'],
    [{ name: 'v', secret: { secretName: 'none' } }, 'secret "none" not found'],
    [
      { name: 'v', configMap: { name: 'kube-root-ca.crt', items: [{ key: 'x', path: 'x' }] } },
      'non-existent config key: x',
    ],
    [{ name: 'v', configMap: { name: 'kube-root-ca.crt', items: [{ key: 'raw', path: '../x' }] } }, 'invalid path'],
    [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'x' } }] } }, 'is not supported'],
  ])('%j are refused', async (volume, message) => {
    await expect(volumeFiles(volume, context, signal)).rejects.toThrow(message);
  });

  it('of an optional source that is missing are none', async () => {
    expect(await files({ name: 'v', secret: { secretName: 'none', optional: true } })).toEqual({});
  });
});

import { describe, expect, it } from 'vitest';
import { must } from '@gantry/base';
import type { ClusterTrustBundle, ClusterTrustBundleProjection, Volume } from '@gantry/objects';
import { nodeFacts, pod } from '../testing/pods.ts';
import { rememberReads } from '../spec/config-source.ts';
import { volumeTypeOf } from './supported-volumes.ts';
import { ContentBudget } from './content-budget.ts';
import type { VolumeContext } from './volume-types/volume-type.ts';
import { downwardApiVolume, projectedVolume } from './volume-types/projected.ts';
import { checkedPath, configMapVolume, secretVolume } from './volume-types/volume-file.ts';

const anchor = (letter: string) =>
  `-----BEGIN CERTIFICATE-----\n${letter.repeat(64)}\n${letter}===\n-----END CERTIFICATE-----\n`;
const ANCHORS = { a: anchor('A'), b: anchor('B'), c: anchor('C') };
const bundle = (name: string, trustBundle: string, signerName?: string, labels = {}): ClusterTrustBundle => ({
  apiVersion: 'certificates.k8s.io/v1beta1',
  kind: 'ClusterTrustBundle',
  metadata: { name, labels },
  spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
});
const BUNDLES = [
  bundle('one', `of ours\n${ANCHORS.b}\n${ANCHORS.a.replaceAll('\n', '\r\n')}`),
  bundle('s:a:1', `${ANCHORS.a}${ANCHORS.b}`, 's/a'),
  bundle('s:a:2', `${ANCHORS.c}${ANCHORS.b}`, 's/a', { live: 'yes' }),
  bundle('s:b:1', ANCHORS.a, 's/b'),
];
const NAMESPACE_FILE = { path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } };
const signal = new AbortController().signal;

describe('the files of a volume', () => {
  const context: VolumeContext = {
    pod: pod({}, {}, { labels: { app: 'x' } }),
    podAddress: '10.0.0.9',
    facts: nodeFacts(1000),
    source: {
      configMap: async (_namespace, name) =>
        name === 'kube-root-ca.crt'
          ? { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { 'ca.crt': 'CA' }, binaryData: { raw: 'AQI=' } }
          : undefined,
      secret: async (_namespace, name) =>
        name === 'login'
          ? { apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { user: 'amFuZQ==', word: 'cw==' } }
          : undefined,
      trustBundles: async (selection) =>
        BUNDLES.filter(({ metadata, spec }) =>
          'name' in selection ? metadata.name === selection.name : spec.signerName === selection.signerName,
        ),
    },
    token: async ({ audience = '' }) => `token for ${audience}`,
    budget: new ContentBudget(),
  };
  const types = [configMapVolume, secretVolume, projectedVolume];
  const filesOf = async (volume: Volume) => {
    const type = types.find(({ field }) => volume[field] !== undefined);
    return must(type, 'a type for the volume').files(volume, context, signal);
  };
  const files = async (volume: Volume) =>
    Object.fromEntries(
      (await filesOf(volume)).map(({ path, content, mode }) => [
        path,
        `${mode.toString(8)} ${Buffer.from(content).toString('latin1')}`,
      ]),
    );

  it('contain the projected service account as admission adds it', async () => {
    const sources = [
      { serviceAccountToken: { path: 'token', audience: 'api' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [NAMESPACE_FILE] } },
    ];
    expect(await files({ name: 'v', projected: { sources, defaultMode: 0o600 } })).toEqual({
      token: '600 token for api',
      'ca.crt': '600 CA',
      namespace: '600 default',
    });
  });

  it('give a token to the one user of all containers, and to no other', async () => {
    const sources = [{ serviceAccountToken: { path: 'token' } }, { downwardAPI: { items: [NAMESPACE_FILE] } }];
    const own = { ...context, pod: pod({ securityContext: { runAsUser: 5 } }) };
    const found = await projectedVolume.files({ name: 'v', projected: { sources } }, own, signal);
    expect(found.map(({ path, mode, user }) => ({ path, mode, user }))).toEqual([
      { path: 'token', mode: 0o600, user: 5 },
      { path: 'namespace', mode: 0o644, user: undefined },
    ]);
  });

  it('hold text and bytes of a ConfigMap', async () => {
    expect(await files({ name: 'v', configMap: { name: 'kube-root-ca.crt' } })).toEqual({
      'ca.crt': '644 CA',
      raw: '644 \u0001\u0002',
    });
  });

  it.each<[Volume, string]>([
    [{ name: 'v', configMap: { name: 'none' } }, 'configmap "none" not found'],
    [{ name: 'v', secret: { secretName: 'none' } }, 'secret "none" not found'],
    [
      { name: 'v', configMap: { name: 'kube-root-ca.crt', items: [{ key: 'x', path: 'x' }] } },
      'non-existent config key: x',
    ],
    [{ name: 'v', configMap: { name: 'kube-root-ca.crt', items: [{ key: 'raw', path: '../x' }] } }, 'invalid path'],
    [
      { name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'x' } }] } },
      'exactly one of name and signerName of a clusterTrustBundle must be given',
    ],
    [
      { name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'none', path: 'x' } }] } },
      'clustertrustbundle.certificates.k8s.io "none" not found',
    ],
    [
      { name: 'v', projected: { sources: [{ clusterTrustBundle: { signerName: 's/a', path: 'x' } }] } },
      'combination of signerName and labelSelector matched zero ClusterTrustBundles',
    ],
    [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'one', path: '../x' } }] } }, 'invalid path'],
    [
      { name: 'v', projected: { sources: [{ podCertificate: { signerName: 's', keyType: 'ED25519' } }] } },
      'projected source podCertificate is not supported',
    ],
  ])('%j are refused', async (volume, message) => {
    await expect(filesOf(volume)).rejects.toThrow(message);
  });

  it('are the trust anchors of a bundle, or of those of a signer that have the labels, each once', async () => {
    const content = async (clusterTrustBundle: ClusterTrustBundleProjection) =>
      files({ name: 'v', projected: { sources: [{ clusterTrustBundle }] } });
    expect(await content({ name: 'one', path: 'a/roots.pem' })).toEqual({
      'a/roots.pem': `644 ${ANCHORS.a}${ANCHORS.b}`,
    });
    const ofSigner = { signerName: 's/a', path: 'p' };
    expect(await content({ ...ofSigner, labelSelector: {} })).toEqual({
      p: `644 ${ANCHORS.a}${ANCHORS.b}${ANCHORS.c}`,
    });
    expect(await content({ ...ofSigner, labelSelector: { matchLabels: { live: 'yes' } } })).toEqual({
      p: `644 ${ANCHORS.b}${ANCHORS.c}`,
    });
    expect(await content({ ...ofSigner, optional: true })).toEqual({ p: '644 ' });
    expect(await content({ name: 'none', optional: true, path: 'p' })).toEqual({ p: '644 ' });
    const own = { ...context, pod: pod({ securityContext: { runAsUser: 5 } }) };
    const sources = [{ clusterTrustBundle: { name: 'one', path: 'p' } }];
    const [file] = await projectedVolume.files({ name: 'v', projected: { sources } }, own, signal);
    expect(file).toMatchObject({ mode: 0o600, user: 5 });
  });

  it('share one content when many sources name the same trust bundles', async () => {
    const own = { ...context, source: rememberReads(context.source) };
    const named = (path: string) => ({ clusterTrustBundle: { name: 'one', path } });
    const labelled = (path: string, live: string) => ({
      clusterTrustBundle: {
        signerName: 's/a',
        labelSelector: { matchExpressions: [{ key: 'live', operator: live }] },
        path,
      },
    });
    const sources = [
      named('a'),
      named('b'),
      labelled('c', 'Exists'),
      labelled('d', 'Exists'),
      labelled('e', 'DoesNotExist'),
    ];
    const made = await projectedVolume.files({ name: 'v', projected: { sources } }, own, signal);
    const [a, b, c, d, e] = made.map(({ content }) => content);
    expect([b === a, d === c, e === c]).toEqual([true, true, false]);
    expect(String(e)).toBe(`${ANCHORS.a}${ANCHORS.b}`);
  });

  it('hold the keys of a Secret that are selected, in a volume of its own and in a projected one', async () => {
    const items = [{ key: 'user', path: 'name/of/user', mode: 0o400 }];
    expect(await files({ name: 'v', secret: { secretName: 'login' } })).toEqual({ user: '644 jane', word: '644 s' });
    expect(await files({ name: 'v', secret: { secretName: 'login', items } })).toEqual({ 'name/of/user': '400 jane' });
    const sources = [{ secret: { name: 'login', items } }];
    expect(await files({ name: 'v', projected: { sources } })).toEqual({ 'name/of/user': '400 jane' });
  });

  it('share one copy of an object and of a field, however often they are named', async () => {
    const { secret } = context.source;
    const source = rememberReads({ ...context.source, secret });
    const sources = ['a', 'b', 'c'].map((path) => ({ secret: { name: 'login', items: [{ key: 'user', path }] } }));
    const found = await projectedVolume.files({ name: 'v', projected: { sources } }, { ...context, source }, signal);
    expect(new Set(found.map(({ content }) => content)).size).toBe(1);
    const items = ['a', 'b', 'c'].map((path) => ({ ...NAMESPACE_FILE, path }));
    const fields = await downwardApiVolume.files({ name: 'v', downwardAPI: { items } }, context, signal);
    expect(new Set(fields.map(({ content }) => content)).size).toBe(1);
  });

  it('are refused when they are too large together, before they are written', async () => {
    const annotations = { long: '\u0001'.repeat(110_000) };
    const large = { ...context, pod: pod({}, {}, { annotations }), budget: new ContentBudget() };
    const items = Array.from({ length: 7_000 }, (_, i) => ({
      path: `f${i}`,
      fieldRef: { fieldPath: 'metadata.annotations' },
    }));
    const tooLarge = {
      code: 'FailedMount',
      message: expect.stringMatching(/take 33\d{6} bytes or more; the limit is 33554432 \(of each pod\)$/),
    };
    await expect(downwardApiVolume.files({ name: 'v', downwardAPI: { items } }, large, signal)).rejects.toMatchObject(
      tooLarge,
    );
    const of = (count: number, path: (i: number) => string) => ({
      name: 'v',
      projected: {
        sources: Array.from({ length: count }, (_, i) => ({
          secret: { name: 'login', items: [{ key: 'user', path: path(i) }] },
        })),
      },
    });
    const fresh = () => ({ ...context, budget: new ContentBudget() });
    // A small file takes a page, and so does each of its folders.
    expect(
      await projectedVolume.files(
        of(8_192, (i) => `${i}`),
        fresh(),
        signal,
      ),
    ).toHaveLength(8_192);
    await expect(
      projectedVolume.files(
        of(8_193, (i) => `${i}`),
        fresh(),
        signal,
      ),
    ).rejects.toThrow('the limit is');
    await expect(
      projectedVolume.files(
        of(1, () => 'a/'.repeat(8_192) + 'a'),
        fresh(),
        signal,
      ),
    ).rejects.toThrow('the limit is');
  });

  it('lack a selected key that is missing where that is optional', async () => {
    const secret = { secretName: 'login', items: [{ key: 'none', path: 'none' }] };
    await expect(files({ name: 'v', secret })).rejects.toThrow('references non-existent secret key: none');
    expect(await files({ name: 'v', secret: { ...secret, optional: true } })).toEqual({});
  });

  it.each(['', '/a', 'a/', 'a//b', './a', 'a/./b', 'a/../b', '..', '..data', '..data/a'])(
    'are not at the path %j, which could leave the volume or is its own',
    (path) => {
      expect(() => checkedPath(path)).toThrow('invalid path');
    },
  );

  it.each(['a', 'a/b', '.a', 'a..b', 'a/..b'])('may be at the path %j', (path) => {
    expect(checkedPath(path)).toBe(path);
  });

  it('are empty for an optional source that is missing', async () => {
    expect(await files({ name: 'v', secret: { secretName: 'none', optional: true } })).toEqual({});
  });
});

describe('supported volumes', () => {
  it.each<[Volume, string]>([
    [{ name: 'v', emptyDir: {} }, 'read-write'],
    [{ name: 'v', configMap: { name: 'settings' } }, 'read-only'],
  ])('%j is %s', (volume, access) => {
    expect(volumeTypeOf(volume).access).toBe(access);
  });

  it('refuse a volume of any other type by its field', () => {
    const volume: Volume = { name: 'v', fc: { lun: 1 } };
    expect(() => volumeTypeOf(volume)).toThrow('volumes of kind fc are not supported by this node');
  });
});

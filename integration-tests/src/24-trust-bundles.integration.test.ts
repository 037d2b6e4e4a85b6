/** Trust anchors of the cluster in the volumes of pods, with API servers that serve them. */
import { CLUSTER_TRUST_BUNDLES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { runProgram } from './harness/process.ts';

const cluster = new Cluster();
const PATIENCE_MS = 120_000;
const SIGNER = 'example.com/signer';

beforeAll(() => cluster.up({ GANTRY_RUNTIME_CONFIG: 'certificates.k8s.io/v1beta1/clustertrustbundles=true' }), 600_000);
afterAll(() => cluster.up({ GANTRY_RUNTIME_CONFIG: '' }), 600_000);

/** The certificate of a new authority, in PEM. */
async function authority(name: string): Promise<string> {
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    '/dev/null',
  ];
  const { code, stdout, stderr } = await runProgram('openssl', [...args, '-days', '1', '-subj', `/CN=${name}`]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const bundle = (name: string, trustBundle: string, signerName?: string) => ({
  apiVersion: 'certificates.k8s.io/v1beta1',
  kind: 'ClusterTrustBundle',
  metadata: { name, labels: { live: 'yes' } },
  spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
});

test('a pod shows a bundle by name and those of a signer, each anchor once, and follows their changes', async () => {
  await using namespace = await cluster.namespace();
  const kubectl = (args: readonly string[], input = '') =>
    cluster.mustKubectl(['-n', namespace.name, ...args], { input });
  const [one, two, three] = [await authority('one'), await authority('two'), await authority('three')];
  const name = (suffix: string) => `example.com:signer:${namespace.name}-${suffix}`;
  const names = [namespace.name, name('1'), name('2')];
  const apply = (object: object) => kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const read = async (path: string) => {
    const text = await kubectl(['exec', 'reader', '--', 'cat', `/trust/${path}`]);
    return text.split(/(?<=-----END CERTIFICATE-----\n)/).toSorted();
  };
  try {
    await apply(bundle(namespace.name, `of ours\n${one}${two}`));
    await apply(bundle(name('1'), two, SIGNER));
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'reader' },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sleep', '3600'],
            volumeMounts: [{ name: 'trust', mountPath: '/trust' }],
          },
        ],
        volumes: [
          {
            name: 'trust',
            projected: {
              sources: [
                { clusterTrustBundle: { name: namespace.name, path: 'named.pem' } },
                {
                  clusterTrustBundle: {
                    signerName: SIGNER,
                    labelSelector: { matchLabels: { live: 'yes' } },
                    path: 'signer/all.pem',
                  },
                },
                { clusterTrustBundle: { name: 'none', optional: true, path: 'none.pem' } },
              ],
            },
          },
        ],
      },
    });
    await kubectl(['wait', '--for=condition=Ready', 'pod/reader', '--timeout=120s']);
    expect(await read('named.pem')).toEqual([one, two].toSorted());
    expect(await read('signer/all.pem')).toEqual([two]);
    expect(await read('none.pem')).toEqual(['']);
    await apply(bundle(name('2'), `${three}${two}`, SIGNER));
    await apply(bundle(namespace.name, three));
    await eventually('the pod shows the changes', PATIENCE_MS, async () => {
      expect(await read('signer/all.pem')).toEqual([two, three].toSorted());
      expect(await read('named.pem')).toEqual([three]);
      return true;
    });
    const refused = await cluster.kubectl(['apply', '-f', '-'], {
      input: JSON.stringify(bundle('bad', 'no certificate')),
    });
    expect(refused.stderr).toContain('at least one trust anchor must be provided');
  } finally {
    const bundles = await cluster.list(CLUSTER_TRUST_BUNDLES);
    const ours = bundles.flatMap(({ metadata }) => (names.includes(metadata.name ?? '') ? [metadata.name ?? ''] : []));
    await kubectl(['delete', 'clustertrustbundles', ...ours]);
  }
});

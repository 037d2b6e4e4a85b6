import {
  type ClusterTrustBundleProjection,
  type FileKeySelector,
  formatFieldError,
  type PodSpec,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { validatePodSpec } from './spec.ts';

const main = { name: 'main', image: 'busybox', terminationMessagePolicy: 'File', imagePullPolicy: 'Always' };

const said = (spec: PodSpec) =>
  validatePodSpec({ restartPolicy: 'Always', dnsPolicy: 'Default', ...spec }, 'spec').map(
    (error) => `${error.field}: ${formatFieldError(error)}`,
  );

describe('a projected source of trust bundles', () => {
  const AT = 'spec.volumes[0].projected.sources[0].clusterTrustBundle';
  const bundles = (...sources: Partial<ClusterTrustBundleProjection>[]) =>
    said({
      containers: [main],
      volumes: [
        {
          name: 'v',
          projected: {
            sources: sources.map((clusterTrustBundle) => ({ clusterTrustBundle: { path: '', ...clusterTrustBundle } })),
          },
        },
      ],
    });

  it.each<[string, Partial<ClusterTrustBundleProjection>]>([
    ['one by its name', { name: 'roots' }],
    ['one of a signer by its name', { name: 'example.com:signer:v1' }],
    ['all of a signer', { signerName: 'example.com/signer' }],
    [
      'those of a signer that a selector takes',
      { signerName: 'example.com/signer', labelSelector: { matchLabels: { a: 'b' } } },
    ],
  ])('takes %s', (_, source) => {
    expect(bundles({ path: 'ca/roots.pem', ...source })).toEqual([]);
  });

  const NAME = `${AT}.name: Invalid value: `;
  const WRONG = 'not a valid clustertrustbundlename: ';
  it.each<[string, Partial<ClusterTrustBundleProjection>, readonly string[]]>([
    ['nothing', { path: 'p' }, [`${AT}: Required value: either name or signerName must be specified`]],
    [
      'a name and a signer',
      { path: 'p', name: 'a', signerName: 'example.com/b' },
      [
        `${AT}: Invalid value: {"Name":"a","SignerName":"example.com/b","LabelSelector":null,"Optional":null,"Path":"p"}: only one of name and signerName may be used`,
      ],
    ],
    [
      'a name that is empty',
      { path: 'p', name: '' },
      [
        `${AT}.name: Required value: must be a valid object name`,
        expect.stringContaining(`${NAME}"": ${WRONG}a lowercase RFC 1123 subdomain must consist of`),
      ],
    ],
    [
      'a name that is none',
      { path: 'p', name: 'Roots' },
      [expect.stringContaining(`${NAME}"Roots": ${WRONG}a lowercase RFC 1123 subdomain must consist of`)],
    ],
    [
      'a name of a signer that is none',
      { path: 'p', name: 'example.com:signer:' },
      [expect.stringContaining(`${NAME}"example.com:signer:": ${WRONG}a lowercase RFC 1123 subdomain must consist of`)],
    ],
    [
      'a name of no signer with a colon',
      { path: 'p', name: ':a' },
      [`${NAME}":a": ${WRONG}ClusterTrustBundle without signer name must not have ":" in its name`],
    ],
    [
      'a selector beside a name',
      { path: 'p', name: 'roots', labelSelector: { matchLabels: { a: 'b' } } },
      [
        `${AT}.labelSelector: Invalid value: {"matchLabels":{"a":"b"}}: labelSelector must be unset if name is specified`,
      ],
    ],
    [
      'a signer that is empty',
      { path: 'p', signerName: '' },
      [`${AT}.signerName: Required value: must be a valid signer name`, `${AT}.signerName: Required value`],
    ],
    [
      'a signer that is none',
      { path: 'p', signerName: 'signer' },
      [
        `${AT}.signerName: Invalid value: "signer": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
      ],
    ],
    [
      'a selector that is none',
      {
        path: 'p',
        signerName: 'example.com/signer',
        labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
      },
      [
        `${AT}.labelSelector.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      ],
    ],
    ['no path', { name: 'roots' }, [`${AT}.path: Required value`]],
    [
      'a path out of the volume',
      { name: 'roots', path: '../roots' },
      [`${AT}.path: Invalid value: "../roots": must not contain '..'`],
    ],
  ])('refuses %s', (_, source, errors) => {
    expect(bundles(source)).toEqual(errors);
  });

  it('is the only one of its source', () => {
    const both = { clusterTrustBundle: { name: 'roots', path: 'p' }, secret: { name: 's' } };
    expect(said({ containers: [main], volumes: [{ name: 'v', projected: { sources: [both] } }] })).toEqual([
      'spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source',
    ]);
  });

  it('refuses the path of another source', () => {
    expect(bundles({ name: 'a', path: 'p' }, { name: 'b', path: 'p' })).toEqual([
      'spec.volumes[0].projected: Invalid value: "p": conflicting duplicate paths',
    ]);
  });
});

describe('a variable from a file', () => {
  const AT = 'spec.containers[0].env[0].valueFrom.fileKeyRef';
  const volumes = [
    { name: 'files', emptyDir: {} },
    { name: 'config', configMap: { name: 'c' } },
  ];
  const from = (fileKeyRef: FileKeySelector) => ({
    ...main,
    env: [{ name: 'GREETING', valueFrom: { fileKeyRef } }],
  });
  const good = { volumeName: 'files', path: 'of/env', key: 'GREETING' };

  it.each<[string, Partial<FileKeySelector>, readonly string[]]>([
    ['a file of an emptyDir volume', {}, []],
    ['a key of all that a name of a variable may have', { key: 'A key-1.' }, []],
    ['no key', { key: '' }, [`${AT}.key: Required value`]],
    [
      'a key that no variable can have',
      { key: 'A=B' },
      [
        `${AT}.key: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    ],
    ['no path', { path: '' }, [`${AT}.path: Required value`]],
    ['a path that begins at the volume', { path: '/env' }, []],
    ['a name of two dots and more', { path: '..data' }, []],
    ['a path out of the volume', { path: 'a/../b' }, [`${AT}.path: Invalid value: "a/../b": must not contain '..'`]],
    ['a volume that the pod does not have', { volumeName: 'no' }, [`${AT}.volumeName: Not found: "no"`]],
    [
      'a volume of another type',
      { volumeName: 'config' },
      [`${AT}.volumeName: Invalid value: "config": referenced volume must be of type emptyDir`],
    ],
    ['no volume', { volumeName: '' }, [`${AT}.volumeName: Required value`, `${AT}.volumeName: Not found: ""`]],
    [
      'a volume of no name',
      { volumeName: 'No' },
      [
        expect.stringContaining(`${AT}.volumeName: Invalid value: "No": a lowercase RFC 1123 label must consist of`),
        `${AT}.volumeName: Not found: "No"`,
      ],
    ],
  ])('with %s', (_, change, errors) => {
    expect(said({ containers: [from({ ...good, ...change })], volumes })).toEqual(errors);
  });

  it('names a volume in every kind of container', () => {
    const wrong = from({ ...good, volumeName: 'no' });
    const places = {
      initContainers: [{ ...wrong, name: 'init' }],
      containers: [wrong],
      ephemeralContainers: [{ ...wrong, name: 'debug' }],
    };
    expect(said({ ...places, volumes })).toEqual(
      Object.keys(places).map((place) => `spec.${place}[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "no"`),
    );
  });
});

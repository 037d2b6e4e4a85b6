import { X509Certificate } from 'node:crypto';
import { append } from '@gantry/base';
import { ageColumn, column, defineResource, immutable, invalidAll, nameColumn } from '@gantry/apimachinery';
import { kindSchema } from '@gantry/custom-resources';
import {
  CLUSTER_TRUST_BUNDLES,
  type ClusterTrustBundle,
  type FieldError,
  invalid,
  pathSegment,
  tooLong,
} from '@gantry/objects';
import { pemBlocks } from '../fields/pem.ts';
import { derSequences } from './issued-certificate.ts';
import { trustBundleName, validateSignerName } from '../fields/signer-name.ts';

const MAX_BUNDLE_BYTES = 1024 * 1024;
const BUNDLE = 'spec.trustBundle';
/** Bundles are too long for error messages. */
const OMITTED = '<value omitted>';

const { schema, publishedSchema, validateNew, validateChange } = kindSchema(CLUSTER_TRUST_BUNDLES, {
  type: 'object',
  description:
    'ClusterTrustBundle is a set of X.509 trust anchors (root certificates) for the whole cluster, which pods mount with the projected volume source clusterTrustBundle.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'spec contains the signer, if there is one, and the trust anchors.',
      required: ['trustBundle'],
      properties: {
        signerName: {
          type: 'string',
          description:
            'signerName is the signer whose certificates the anchors check, if there is one. Who sets it needs the verb attest for it on the resource signers of certificates.k8s.io. The name of the object begins with it then, with colons in place of slashes. It cannot be changed.',
        },
        trustBundle: {
          type: 'string',
          description:
            'trustBundle contains the certificates of authorities in PEM: no other blocks, no headers, no certificate twice.',
        },
      },
    },
  },
});

function validateName({ metadata: { name = '' }, spec: { signerName = '' } }: ClusterTrustBundle): FieldError[] {
  return invalidAll('metadata.name', name, trustBundleName(name, signerName));
}

function validateSpec({ spec: { signerName = '', trustBundle } }: ClusterTrustBundle): FieldError[] {
  const errors = signerName === '' ? [] : validateSignerName(signerName, 'spec.signerName');
  return [...errors, ...validateBundle(trustBundle)];
}

function validateBundle(text: string): FieldError[] {
  if (Buffer.byteLength(text) > MAX_BUNDLE_BYTES) return [tooLong(BUNDLE, MAX_BUNDLE_BYTES)];
  const errors: FieldError[] = [];
  const places = new Map<string, number[]>();
  for (const [index, { type, headers, der }] of pemBlocks(Buffer.from(text)).entries()) {
    const fault = type === 'CERTIFICATE' ? faultOf(headers, der) : `has bad block type: ${type}`;
    if (fault !== undefined) errors.push(invalid(BUNDLE, OMITTED, `entry ${index} ${fault}`));
    const key = der.toString('base64');
    const indices = places.get(key);
    if (indices === undefined) places.set(key, [index]);
    else indices.push(index);
  }
  if (errors.length > 0) return errors;
  if (places.size === 0) return [invalid(BUNDLE, OMITTED, 'at least one trust anchor must be provided')];
  const repeated = [...places.values()].filter(({ length }) => length > 1);
  append(
    errors,
    repeated.map((indices) => invalid(BUNDLE, OMITTED, `duplicate trust anchor (indices [${indices.join(' ')}])`)),
  );
  return errors;
}

function faultOf(headers: 'none' | 'some', der: Buffer): string | undefined {
  if (headers === 'some') return 'has PEM block headers';
  // Only a single DER sequence is passed to the parser: in other data it would search for PEM.
  if (derSequences(der)?.length !== 1) return 'does not parse as X.509';
  try {
    return new X509Certificate(der).ca ? undefined : 'does not have the CA bit set';
  } catch {
    return 'does not parse as X.509';
  }
}

/** Kubernetes 1.36 serves it only if its settings enable it. */
export const clusterTrustBundles = defineResource(CLUSTER_TRUST_BUNDLES, {
  // Clients expect it to support strategic merge patches like Kubernetes' kinds.
  schema: { ...schema, patches: 'strategic' },
  publishedSchema,
  protobuf: 'served',
  strategy: {
    validateName: pathSegment,
    // An absent and an empty signer are the same: protobuf cannot distinguish them.
    applyDefaults: ({ spec }) => {
      if (spec?.signerName === '') delete spec.signerName;
    },
    validateCreate: (bundle) => validateNew(bundle, (own) => [...validateName(own), ...validateSpec(own)]),
    validateUpdate: (bundle, old) =>
      validateChange(bundle, old, (own) => [
        ...validateSpec(own),
        ...immutable('spec.signerName', own.spec.signerName, old.spec.signerName),
      ]),
  },
  columns: [
    nameColumn,
    column('SignerName', 'The signer of the bundle, if there is one.', ({ spec }) => spec.signerName ?? '<none>'),
    ageColumn,
  ],
  selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName ?? '' },
});

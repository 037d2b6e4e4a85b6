import { generateKeyPairSync } from 'node:crypto';
import { errorsOf } from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { customDefinitions, validateDefinitionSpec } from '@gantry/custom-resources';
import { canonicalIp, findKind, lastCronTime, nextCronTime, parseCronSchedule, timeZoneFault } from '@gantry/kinds';
import type { CustomResourceDefinition, KubeObject } from '@gantry/objects';
import { createSigningKeys, fixedSigningKeys } from '../../auth/authn/signing-keys.ts';
import { createServiceAccountAuthenticator } from '../../auth/authn/token-authenticator.ts';
import { casesOf, numbered, type ParserCase, type Shape, TEXTS, times } from './parser-case.ts';

/** Maximum length of texts in bodies. It is enough to show more than linear growth. */
const MAX_TEXT = 128 * 1024;

const SCHEDULES: Readonly<Record<string, Shape>> = {
  ...TEXTS,
  'many minutes': (size) => `${numbered(size, (i) => `${i % 60}`, ',')} * * * *`,
  'many ranges': (size) => `${numbered(size, () => '0-59/1', ',')} * * * *`,
  'many fields': (size) => times('* ', size),
  'long step': (size) => `*/${times('1', size)} * * * *`,
  'slashes of a field': (size) => `*${times('/1', size)} * * * *`,
  'hyphens of a field': (size) => `1${times('-1', size)} * * * *`,
  'long delay': (size) => `@every ${times('1ms', size)}`,
  'units of a delay': (size) => `@every 1${times('m', size)}`,
  'long zone': (size) => `TZ=${times('A/', size)} * * * * *`,
};

const NOW = Date.UTC(2026, 0, 1);

/** The rarest schedules with time zones. Each is searched for its next time and for missed times. */
const RARE: readonly string[] = [
  ', * * * *',
  '* , * * *',
  '* * , * ,',
  '* * * , *',
  '0 0 30 2 *',
  '59 23 31 12 *',
  '30 2 29 2 *',
];

const scheduleCases: readonly ParserCase[] = [
  ...casesOf('kinds/parseCronSchedule', MAX_TEXT, SCHEDULES, (text) => () => parseCronSchedule(text, undefined)),
  ...casesOf('kinds/timeZoneFault', MAX_TEXT, TEXTS, (text) => () => timeZoneFault(text)),
  ...RARE.map((text): ParserCase => {
    const schedule = parseCronSchedule(text, 'Europe/Berlin');
    if ('fault' in schedule) throw new TypeError(schedule.fault);
    return {
      parser: 'kinds/nextCronTime',
      shape: `${text} in a time zone`,
      largest: 1,
      prepare: () => () => [nextCronTime(schedule, NOW), lastCronTime(schedule, NOW - 40 * 86_400_000, NOW)],
    };
  }),
];

const ADDRESSES: Readonly<Record<string, Shape>> = {
  ...TEXTS,
  'groups of four': (size) => times('ffff:', size),
  'many gaps': (size) => times('::', size),
  'long prefix': (size) => `10.0.0.0/${times('1', size)}`,
  'long octet': (size) => `${times('0', size)}.0.0.1`,
  zone: (size) => `fe80::1%${times('a', size)}`,
};

const networkPolicies = must(findKind('networking.k8s.io', 'v1', 'NetworkPolicy'), 'networkpolicies');
const services = must(findKind('', 'v1', 'Service'), 'services');
const requests = must(findKind('certificates.k8s.io', 'v1', 'CertificateSigningRequest'), 'requests');
const asObject = (value: object): KubeObject => value as KubeObject;

function policyOf(blocks: readonly object[]): KubeObject {
  const spec = {
    podSelector: {},
    policyTypes: ['Ingress'],
    ingress: [{ from: blocks.map((ipBlock) => ({ ipBlock })) }],
  };
  return asObject({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'a', namespace: 'b' },
    spec,
  });
}

function serviceOf(clusterIP: string): KubeObject {
  const spec = {
    type: 'ClusterIP',
    clusterIP,
    clusterIPs: [clusterIP],
    ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
  };
  return asObject({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'a', namespace: 'b' }, spec });
}

const addressCases: readonly ParserCase[] = [
  ...casesOf('kinds/canonicalIp', MAX_TEXT, ADDRESSES, (text) => () => canonicalIp(text)),
  ...casesOf('kinds/validateCidr', MAX_TEXT, ADDRESSES, (text) => {
    const policy = policyOf([{ cidr: text, except: [text] }]);
    return () => networkPolicies.strategy?.validateCreate?.(policy);
  }),
  ...casesOf('kinds/validateIp', MAX_TEXT, ADDRESSES, (text) => {
    const service = serviceOf(text);
    return () => services.strategy?.validateCreate?.(service);
  }),
  {
    parser: 'kinds/validateCidr',
    shape: 'many exceptions',
    largest: 10_000,
    prepare: (size) => {
      const except = Array.from({ length: size }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
      const policy = policyOf([{ cidr: '10.0.0.0/8', except }]);
      return () => networkPolicies.strategy?.validateCreate?.(policy);
    },
  },
];

/** Base64 of valid and invalid certificate requests, in DER and in PEM. */
const REQUESTS: Readonly<Record<string, Shape>> = {
  ...TEXTS,
  'open sequences': (size) => pem(Buffer.alloc(Math.ceil(size / 2), Buffer.from([0x30, 0x80]))),
  'empty items': (size) => pem(Buffer.alloc(Math.ceil(size / 2), Buffer.from([0x05, 0x00]))),
  'many blocks': (size) => times(pem(Buffer.from([0x30, 0x00])), size),
  headers: (size) => `-----BEGIN CERTIFICATE REQUEST-----\n${times('a: b\n', size)}-----END CERTIFICATE REQUEST-----\n`,
  'open blocks': (size) => times('-----BEGIN CERTIFICATE REQUEST-----\n', size),
};

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`;
}

const requestCases = casesOf('kinds/CertificateSigningRequest', MAX_TEXT, REQUESTS, (text) => {
  const request = asObject({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'a' },
    spec: {
      request: Buffer.from(text).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
  });
  return () => requests.strategy?.validateCreate?.(request);
});

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keys = createSigningKeys(privateKey.export({ type: 'pkcs8', format: 'pem' }));

const TOKENS: Readonly<Record<string, Shape>> = {
  ...TEXTS,
  'long header': (size) => `${encoded({ alg: 'ES256', kid: times('a', size) })}.e30.AA`,
  'deep header': (size) => `${Buffer.from(times('[', size)).toString('base64url')}.e30.AA`,
  'header of a known key': (size) =>
    `${encoded({ alg: keys.signing.algorithm, kid: keys.signing.keyId })}.${encoded({ sub: times('a', size) })}.AA`,
  'many parts': (size) => times('e30.', size),
};

const nothing = { get: () => undefined, podsOnNode: () => [], ingressesIn: () => [], hasExpired: () => true };
const authenticator = createServiceAccountAuthenticator(fixedSigningKeys(keys), nothing, new ManualClock(), {
  note: () => undefined,
});

/** Measures the parsing up to the check of the signature, which Node.js does in another thread. */
const tokenCases = casesOf('apiserver/createServiceAccountAuthenticator', MAX_TEXT, TOKENS, (token) => () => {
  void authenticator.authenticate(token);
});

const column = (jsonPath: string) => ({ name: 'a', type: 'string', jsonPath });

function definitionOf(openAPIV3Schema: object, jsonPath = '.spec.a'): CustomResourceDefinition {
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'as.b.c' },
    spec: {
      group: 'b.c',
      scope: 'Namespaced',
      names: { kind: 'A', plural: 'as' },
      versions: [{ ...version, additionalPrinterColumns: [column(jsonPath)] }],
    },
  };
}

const PATHS: Readonly<Record<string, Shape>> = {
  ...TEXTS,
  fields: (size) => times('.a', size),
  'escaped dots': (size) => `.a${times('\\.', size)}`,
  indexes: (size) => `.a${times('[0]', size)}`,
  'open brackets': (size) => `.a${times('[', size)}`,
  'all items': (size) => `.a${times('[*]', size)}`,
  'quoted fields': (size) => `.a${times("['b']", size)}`,
  'open quotes': (size) => `.a${times("['", size)}`,
  filters: (size) => `.a${times('[?(@.b=="c")]', size)}`,
  'long filter': (size) => `.a[?(@${times('.b', size)}=="c")]`,
  'blanks of a filter': (size) => `.a[?(@.b${times(' ', size)}`,
};

const NESTED = { a: [{ b: 'c' }, [[{ b: 'c' }]]] };

const pathCases = casesOf('custom-resources/parseJsonPath', MAX_TEXT, PATHS, (jsonPath) => {
  const definition = definitionOf({ type: 'object' }, jsonPath);
  const object = asObject({ apiVersion: 'b.c/v1', kind: 'A', metadata: { name: 'a', namespace: 'b' }, ...NESTED });
  return () => {
    errorsOf(validateDefinitionSpec(definition.spec, undefined));
    const columns = customDefinitions(definition, {})[0]?.columns ?? [];
    return columns.map(({ value }) => value(object, NOW));
  };
});

/** Structural schemas of a given depth or width. */
const SCHEMAS: Readonly<Record<string, (size: number) => object>> = {
  'deep properties': (size) => nested(size, (inner) => ({ type: 'object', properties: { a: inner } })),
  'deep items': (size) => nested(size, (inner) => ({ type: 'array', items: inner })),
  'deep additional properties': (size) => nested(size, (inner) => ({ type: 'object', additionalProperties: inner })),
  'deep alternatives': (size) => nested(size, (inner) => ({ type: 'object', not: inner })),
  'many properties': (size) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: size }, (_, i) => [`p${i}`, { type: 'string' }])),
  }),
  'many required fields': (size) => ({ type: 'object', required: Array.from({ length: size }, (_, i) => `p${i}`) }),
  'many values': (size) => ({ type: 'string', enum: Array.from({ length: size }, (_, i) => `v${i}`) }),
  'many alternatives': (size) => ({ type: 'object', anyOf: Array.from({ length: size }, () => ({ required: ['a'] })) }),
};

function nested(size: number, around: (inner: object) => object): object {
  let schema: object = { type: 'string' };
  for (let depth = 0; depth < size; depth++) schema = around(schema);
  return schema;
}

/** Bodies may have 1000 levels, and one level of a schema needs two of them. */
const DEEPEST = 450;
const WIDEST = 5000;

const schemaCases = Object.entries(SCHEMAS).map(
  ([shape, schemaOf]): ParserCase => ({
    parser: 'custom-resources/customDefinitions',
    shape,
    largest: shape.startsWith('deep') ? DEEPEST : WIDEST,
    prepare: (size) => {
      const definition = definitionOf({ type: 'object', properties: { spec: schemaOf(size) } });
      return () => [errorsOf(validateDefinitionSpec(definition.spec, undefined)), customDefinitions(definition, {})];
    },
  }),
);

/** Cases for fields whose texts have their own grammar. */
export const fieldCases: readonly ParserCase[] = [
  ...scheduleCases,
  ...addressCases,
  ...requestCases,
  ...tokenCases,
  ...pathCases,
  ...schemaCases,
];

import {
  fieldLabelsOf,
  findManagedFieldsProblem,
  managedKindOf,
  parseFieldSelector,
  parseJson,
  updateManagedFields,
  validateAnnotations,
  validateFinalizerName,
  validateLabels,
  validateLabelSelector,
  validateWebhookUrl,
} from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { createEnvironment, DYN, parseDurationText, parseTimestampText, patternOf, valueOfJson } from '@gantry/cel';
import { customDefinitions } from '@gantry/custom-resources';
import { findKind } from '@gantry/kinds';
import {
  canonicalQuantity,
  cIdentifier,
  configKey,
  type CustomResourceDefinition,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainWithUnderscore,
  envVarName,
  httpHeaderName,
  type KubeObject,
  labelValue,
  parseAmounts,
  parseApiVersion,
  parseIpv4,
  parseIpv4Range,
  parseKey,
  parseLabelSelector,
  pathSegment,
  percent,
  portName,
  qualifiedName,
  resolveIntOrPercent,
  wildcardSubdomain,
} from '@gantry/objects';
import { parseContinueToken } from '../../cache/continue-token.ts';
import { parseTarget } from '../../http/exchange.ts';
import { acceptedDiscovery, acceptedForStatus, negotiateOutput } from '../../http/negotiate.ts';
import { parseBoolean, parseInt64 } from '../../http/query.ts';
import { managerOfUserAgent } from '../../endpoints/rest/write-options.ts';
import { parseResourceVersion } from '../../registry/reading/filter.ts';
import { casesOf, numbered, type ParserCase, type Shape, TEXTS, times } from './parser-case.ts';

/** Maximum length of test texts. A text in a body may have 3 MiB, but this length shows more than linear growth in less time. */
const MAX_TEXT = 128 * 1024;
/** Node.js' limit of the request line and headers together. */
const MAX_HEAD = 16 * 1024;
/** Maximum length of an expression. */
const MAX_EXPRESSION = 99_900;

/** All validators and parsers of short texts in bodies. They are tested with long texts. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'objects/canonicalQuantity': canonicalQuantity,
  'objects/parseAmounts': (text) => parseAmounts({ cpu: text, memory: text }),
  'objects/dns1123Label': dns1123Label,
  'objects/dns1035Label': dns1035Label,
  'objects/dns1123Subdomain': (text) => dns1123Subdomain(text),
  'objects/dns1123SubdomainWithUnderscore': dns1123SubdomainWithUnderscore,
  'objects/wildcardSubdomain': wildcardSubdomain,
  'objects/qualifiedName': qualifiedName,
  'objects/labelValue': labelValue,
  'objects/configKey': configKey,
  'objects/pathSegment': (text) => pathSegment(text, false),
  'objects/portName': portName,
  'objects/percent': percent,
  'objects/httpHeaderName': httpHeaderName,
  'objects/envVarName': envVarName,
  'objects/cIdentifier': cIdentifier,
  'objects/parseApiVersion': parseApiVersion,
  'objects/parseIpv4': parseIpv4,
  'objects/parseIpv4Range': parseIpv4Range,
  'objects/parseKey': parseKey,
  'objects/parseLabelSelector': parseLabelSelector,
  'objects/resolveIntOrPercent': (text) => resolveIntOrPercent(text, 10, 'up'),
  'apimachinery/validateFinalizerName': (text) => validateFinalizerName(text, 'a'),
  'apimachinery/validateWebhookUrl': (text) => validateWebhookUrl(text, 'a'),
  'apimachinery/parseJson': (text) => parseJson(JSON.stringify(text)),
  'cel/parseDurationText': parseDurationText,
  'cel/parseTimestampText': parseTimestampText,
  'apiserver/managerOfUserAgent': managerOfUserAgent,
  'apiserver/parseResourceVersion': (text) => parseResourceVersion(text),
};

const pods = must(findKind('', 'v1', 'Pod'), 'pods');

/** Parsers of the request line and of headers. */
const HEAD_READERS: Readonly<Record<string, (text: string) => unknown>> = {
  'apiserver/parseContinueToken': parseContinueToken,
  'apiserver/parseTarget': (text) => parseTarget(`/api/v1/pods?${text}`),
  'apiserver/parseInt64': (text) => parseInt64(new URLSearchParams({ limit: text }), 'limit'),
  'apiserver/parseBoolean': (text) => parseBoolean(new URLSearchParams({ watch: text }), 'watch'),
  'apiserver/negotiateOutput': (text) => negotiateOutput(text, 'single'),
  'apiserver/acceptedDiscovery': acceptedDiscovery,
  'apiserver/acceptedForStatus': acceptedForStatus,
  'apimachinery/parseFieldSelector': (text) => parseFieldSelector(text, fieldLabelsOf(pods)),
};

const ACCEPTS: Readonly<Record<string, Shape>> = {
  ...TEXTS,
  types: (size) => times('application/json,', size),
  parameters: (size) => `application/json${times(';a=b', size)}`,
  qualities: (size) => times('a/b;q=0.1,', size),
  requirements: (size) => times('metadata.name=a,', size),
  'escaped requirements': (size) => `metadata.name=${times('\\,', size)}`,
  'base64url of lists': (size) => Buffer.from(times('[', size)).toString('base64url'),
};

const SELECTORS: Readonly<Record<string, Shape>> = {
  requirements: (size) => numbered(size, (i) => `k${i}=v`, ','),
  sets: (size) => numbered(size, (i) => `k${i} in (a,b)`, ','),
  values: (size) => `k in (${numbered(size, (i) => `v${i}`, ',')})`,
  'empty values': (size) => `k in (${times(',', size)})`,
  negations: (size) => times('!', size),
  comparisons: (size) => numbered(size, (i) => `k${i}>1`, ','),
};

const EXPRESSIONS: Readonly<Record<string, Shape>> = {
  terms: (size) => numbered(size, () => "a.b == 'c'", ' && '),
  sums: (size) => `1${times('+1', size)} == 1`,
  parentheses: (size) => `${times('(', size / 2)}1${times(')', size / 2)}`,
  negations: (size) => `${times('!', size)}true`,
  lists: (size) => `[${times('1,', size)}1].size() == 1`,
  maps: (size) => `{${times('1:1,', size)}1:1}.size() == 1`,
  'nested lists': (size) => `${times('[', size / 2)}${times(']', size / 2)} == 1`,
  indexes: (size) => `a${times('[0]', size)} == 1`,
  selections: (size) => `a${times('.a', size)} == 1`,
  presence: (size) => numbered(size, () => 'has(a.b)', '||'),
  'nested optionals': (size) => `${times('a.optMap(x,', size)}1${times(')', size / 11)} == a`,
  'nested maps of lists': (size) => `${times('a.map(x,', size)}1${times(')', size / 8)} == a`,
  'many nested optionals': (size) =>
    `[${numbered(size, () => `${'a.optMap(x,'.repeat(100)}1${')'.repeat(100)}`, ',')}] == a`,
  'nested macros': (size) => `${times('[1].all(x,', size)}true${times(')', size / 10)}`,
  macros: (size) => numbered(size, () => '[1].all(x, x == 1)', '&&'),
  'long text': (size) => `'${times('a', size)}' == 'a'`,
  escapes: (size) => `'${times('\\u0041', size)}' == 'a'`,
  conditions: (size) => `${times('true ? true : ', size)}true`,
  digits: (size) => `${times('1', size)} == 1`,
  fraction: (size) => `1.${times('1', size)} == 1.0`,
  comments: (size) => `${times('//\n', size)}true`,
  calls: (size) => numbered(size, () => "'a'.startsWith('a')", '||'),
  'pattern of stars': (size) => `'a'.matches('${times('(a*)*', size)}')`,
  'pattern of repetitions': (size) => `'a'.matches('${times('a{1000}', size)}')`,
  'pattern of nested repetitions': (size) =>
    `'a'.matches('${numbered(Math.min(size, 40), () => '((((a{10}){10}){10}){10})', '')}')`,
  quantity: (size) => `quantity('1${times('0', size)}e0').isInteger()`,
  duration: (size) => `duration('${times('1', size)}') == duration('1s')`,
  version: (size) => `semver('${times('1', size)}.0.0').major() == 1`,
  url: (size) => `url('${times('a:', size)}').getHost() == 'a'`,
  address: (size) => `ip('${times('1:', size)}').family() == 4`,
};

/** The largest sizes of expressions for which limits of tokens, parts or depth are reached before the limit of length. */
const LARGEST_EXPRESSIONS: Readonly<Record<string, number>> = {
  terms: 13_990,
  sums: 490,
  parentheses: 490,
  negations: 9950,
  lists: 9950,
  maps: 9950,
  'nested lists': 490,
  indexes: 730,
  selections: 490,
  presence: 14_240,
  'nested optionals': 2730,
  'nested maps of lists': 1950,
  'many nested optionals': 4780,
  'nested macros': 2480,
  macros: 7650,
  conditions: 3460,
  calls: 26_240,
};

const environment = createEnvironment({ variables: { a: DYN } });

const expressionCases = Object.entries(EXPRESSIONS).flatMap(([shape, textOf]) => {
  const cases = (largest: number, name: string) =>
    casesOf('cel/createEnvironment compile', largest, { [name]: textOf }, (text) => () => compileAndEvaluate(text));
  const bounded = LARGEST_EXPRESSIONS[shape];
  const whole = cases(MAX_EXPRESSION, shape);
  return bounded === undefined ? whole : [...whole, ...cases(bounded, `${shape}, just accepted`)];
});

function compileAndEvaluate(text: string): unknown {
  const compiled = environment.compile(text);
  return compiled.ok ? compiled.program.evaluate({ a: valueOfJson({ b: 'c' }) }) : compiled.issues;
}

/** A definition with a list whose items have a schema. Values count towards the limits as in a request. */
function customDefinition(schema: object): ReturnType<typeof customDefinitions>[number] {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'as.b.c' },
    spec: {
      group: 'b.c',
      scope: 'Namespaced',
      names: { kind: 'A', plural: 'as' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: schema } } },
        },
      ],
    },
  } as CustomResourceDefinition;
  return must(customDefinitions(crd, {})[0], 'definition');
}

const custom = (spec: unknown): KubeObject =>
  ({ apiVersion: 'b.c/v1', kind: 'A', metadata: { name: 'a', namespace: 'b' }, spec }) as KubeObject;

const FORMATS = [
  ...['bsonobjectid', 'uri', 'email', 'hostname', 'ipv4', 'ipv6', 'cidr', 'mac', 'uuid', 'uuid4', 'isbn', 'isbn10'],
  ...['isbn13', 'creditcard', 'ssn', 'hexcolor', 'rgbcolor', 'byte', 'password', 'date', 'duration', 'date-time'],
  ...['k8s-short-name', 'k8s-long-name'],
];

const formatCases = FORMATS.flatMap((format) => {
  const definition = customDefinition({ type: 'string', format });
  return casesOf(`custom-resources/hasFormat ${format}`, MAX_TEXT, TEXTS, (text) => {
    const object = custom(text);
    return () => definition.strategy.validateCreate?.(object);
  });
});

const PATTERNS: readonly string[] = [
  '(a+)+$',
  '(a|aa)*b',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(.*)*x',
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  '(([ab]{1,30}){1,30}c)*$',
];

const patternCases = PATTERNS.flatMap((pattern) =>
  casesOf(
    `custom-resources/matchesPattern ${pattern}`,
    MAX_TEXT,
    {
      letters: TEXTS['one letter'] ?? String,
      stop: TEXTS['letters and a stop'] ?? String,
      'two letters': (size) => numbered(size, (i) => ((i * i) % 7 < 3 ? 'a' : 'b'), ''),
    },
    (text) => {
      const definition = customDefinition({ type: 'string', pattern });
      const object = custom(text);
      return () => definition.strategy.validateCreate?.(object);
    },
  ),
);

const patternTexts = casesOf(
  'cel/patternOf compilation',
  MAX_TEXT,
  {
    repetitions: (size) => times('a{1000}', size),
    optional: (size) => times('(a?){100}', size),
    'Unicode classes': (size) => `(?i)${times('[\\pL\\pN]', size)}`,
    'Unicode classes in one': (size) => `[${times('\\p{Letter}', size)}]`,
    'repeated Unicode class': (size) => times('[\\pL\\pN]{100}', size),
    'open Unicode classes': (size) => times('\\p{', size),
    'group names': (size) => numbered(size, (i) => `(?P<n${i % 9}>a)`, ''),
    alternatives: (size) => numbered(size, (i) => `x${i}`, '|'),
    groups: (size) => `${times('(', size)}${times(')', size)}`,
    literal: (size) => `\\Q${times('a{9}', size)}\\E`,
  },
  (pattern) => () => patternOf(pattern),
);

const managed = (size: number, each: (i: number) => object) => Array.from({ length: size }, (_, i) => each(i));
const configMaps = must(findKind('', 'v1', 'ConfigMap'), 'configmaps');

const managedCases: readonly ParserCase[] = [
  {
    parser: 'apimachinery/updateManagedFields',
    shape: 'many managers',
    largest: 8_000,
    prepare: (size) => {
      const managedFields = managed(size, (i) => ({
        manager: `m${i}`,
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
      }));
      const newObject = {
        ...configMap(),
        metadata: { name: 'a', namespace: 'b', managedFields },
      } as KubeObject;
      return () =>
        updateManagedFields({
          of: managedKindOf(configMaps, ''),
          oldObject: undefined,
          newObject,
          manager: 'x',
          now: 0,
        });
    },
  },
  {
    parser: 'apimachinery/findManagedFieldsProblem',
    shape: 'one manager of many fields',
    largest: 33_000,
    prepare: (size) => {
      const fieldsV1 = { 'f:data': Object.fromEntries(Array.from({ length: size }, (_, i) => [`f:k${i}`, {}])) };
      const entries = [{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 }];
      return () => findManagedFieldsProblem(entries);
    },
  },
  {
    parser: 'apimachinery/updateManagedFields',
    shape: 'many fields',
    largest: 33_000,
    prepare: (size) => {
      const newObject = {
        ...configMap(),
        data: Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, 'a'])),
      };
      return () =>
        updateManagedFields({
          of: managedKindOf(configMaps, ''),
          oldObject: undefined,
          newObject,
          manager: 'x',
          now: 0,
        });
    },
  },
];

function configMap(): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'b' } };
}

const mapCases: readonly ParserCase[] = [
  ...(
    [
      ['apimachinery/validateLabels', validateLabels],
      ['apimachinery/validateAnnotations', validateAnnotations],
    ] as const
  ).map(
    ([parser, check]): ParserCase => ({
      parser,
      shape: 'many keys',
      largest: 50_000,
      prepare: (size) => {
        const map = Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, 'a']));
        return () => check(map, 'metadata');
      },
    }),
  ),
  {
    parser: 'apimachinery/validateLabelSelector',
    shape: 'many expressions',
    largest: 15_000,
    prepare: (size) => {
      const matchExpressions = Array.from({ length: size }, (_, i) => ({
        key: `k${i}`,
        operator: 'In',
        values: ['a'],
      }));
      return () => validateLabelSelector({ matchExpressions }, 'spec.selector');
    },
  },
  {
    parser: 'cel/patternOf',
    shape: 'alternatives',
    largest: 100_000,
    prepare: (size) => {
      let round = 0;
      return () => patternOf(`${times('a|', size)}${round++}`);
    },
  },
];

export const valueCases: readonly ParserCase[] = [
  ...Object.entries(READERS).flatMap(([parser, read]) =>
    casesOf(
      parser,
      MAX_TEXT,
      { ...TEXTS, ...(parser.endsWith('LabelSelector') ? SELECTORS : {}) },
      (text) => () => read(text),
    ),
  ),
  ...Object.entries(HEAD_READERS).flatMap(([parser, read]) =>
    casesOf(parser, MAX_HEAD, ACCEPTS, (text) => () => read(text)),
  ),
  ...expressionCases,
  ...formatCases,
  ...patternCases,
  ...patternTexts,
  ...managedCases,
  ...mapCases,
];

import {
  applyJsonPatch,
  applyPatch,
  decodeObject,
  decodeProtobuf,
  encodeProtobuf,
  parsePlainBody,
  readApplyConfig,
} from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { findKind } from '@gantry/kinds';
import type { KubeObject } from '@gantry/objects';
import { decodeDeleteOptions } from '../../endpoints/rest/delete-options-body.ts';
import { formatYaml } from '../../http/go-yaml.ts';
import { casesOf, numbered, type ParserCase, type Shape, times } from './parser-case.ts';

/** Maximum size of objects in YAML. They are written one by one, and this size has more keys than real objects. */
const MAX_WRITTEN = 400_000;
/** Maximum size of a request body. */
const MAX_BODY = 3 * 1024 * 1024;

const JSON_TEXTS: Readonly<Record<string, Shape>> = {
  'open lists': (size) => times('[', size),
  'open maps': (size) => times('{"a":', size),
  'deep lists, many': (size) => `[${numbered(size, () => `${'['.repeat(900)}${']'.repeat(900)}`, ',')}]`,
  'empty items': (size) => `[${times(',', size)}`,
  numbers: (size) => `[${times('0,', size)}0]`,
  fractions: (size) => `[${times('1.5,', size)}0]`,
  'large numbers': (size) => `[${times('12345678901234567890,', size)}0]`,
  'empty lists': (size) => `[${times('[],', size)}0]`,
  'empty maps': (size) => `[${times('{},', size)}0]`,
  'empty strings': (size) => `[${times('"",', size)}0]`,
  'long number': (size) => times('1', size),
  'long fraction': (size) => `0.${times('1', size)}`,
  'long exponent': (size) => `1e${times('1', size)}`,
  'long string': (size) => `"${times('a', size)}"`,
  'open string': (size) => `"${times('a', size)}`,
  'long key': (size) => `{"${times('a', size)}":0}`,
  'escapes of characters': (size) => `"${times('\\u0041', size)}"`,
  'escapes of half pairs': (size) => `"${times('\\ud800', size)}"`,
  'escapes of pairs': (size) => `"${times('\\ud83d\\ude00', size)}"`,
  'escapes of breaks': (size) => `"${times('\\n', size)}"`,
  'escapes and a stop': (size) => `"${times('\\n', size)}\\q"`,
  'strings with escapes': (size) => `[${times('"\\n",', size)}0]`,
  'key that comes again': (size) => `{${times('"a":0,', size)}"a":0}`,
  'deep key that comes again': (size) => `${'{"a":'.repeat(900)}{${times('"a":0,', size)}"a":0}${'}'.repeat(900)}`,
  'long key that comes again': (size) => `{"${times('a', size / 2)}":{${times('"a":0,', size / 2)}"a":0}}`,
  keys: (size) => `{${numbered(size, (i) => `"k${i}":0`, ',')}}`,
  'keys that are numbers': (size) => `{${numbered(size, (i) => `"${(i * 7919) % 1_000_003}":0`, ',')}}`,
  'keys of prototypes': (size) => `{${times('"__proto__":{},', size)}"a":0}`,
  blanks: (size) => `${times(' ', size)}{}`,
  breaks: (size) => `${times('\n', size)}{}`,
  hyphens: (size) => times('-', size),
  accents: (size) => `"${times('\u00e9', size / 2)}"`,
  pairs: (size) => `"${times('\u{1f600}', size / 4)}"`,
};

const YAML_TEXTS: Readonly<Record<string, Shape>> = {
  ...JSON_TEXTS,
  'empty entries': (size) => `{${times(',', size)}`,
  'nested sequences': (size) => times('- ', size),
  sequence: (size) => times('- a\n', size),
  mapping: (size) => numbered(size, (i) => `k${i}: 0`, '\n'),
  'key that comes again, in lines': (size) => times('a: 0\n', size),
  'explicit keys': (size) => times('? ', size),
  'explicit keys, in lines': (size) => times('? a\n', size),
  'empty keys': (size) => times(': ', size),
  colons: (size) => times(':', size),
  'values on a line': (size) => times('a: ', size),
  anchors: (size) => numbered(size, (i) => `- &a${i} x`, '\n'),
  'anchors of one node': (size) => times('&a ', size),
  aliases: (size) => `- &a x\n${times('- *a\n', size)}`,
  'aliases of a large node': (size) => `a: &a [${times('x,', size / 2)}x]\nb: [${times('*a,', size / 2)}*a]\n`,
  'aliases of aliases': (size) =>
    `a: &a [x,x,x]\n${numbered(Math.min(size, 2000), (i) => `b${i}: &b${i} [*${i === 0 ? 'a' : `b${i - 1}`},*${i === 0 ? 'a' : `b${i - 1}`}]`, '\n')}`,
  'merges of a large map': (size) =>
    `a: &a {${numbered(size / 2, (i) => `k${i}: 0`, ', ')}}\nb: {<<: [${times('*a,', size / 2)}*a]}\n`,
  'merge keys': (size) => `a: &a {b: 0}\nc:\n${times('  <<: *a\n', size)}`,
  comments: (size) => times('#\n', size),
  'long comments': (size) => `${times('# aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n', size)}a: 0`,
  tags: (size) => times('!a ', size),
  'tagged items': (size) => times('- !!str a\n', size),
  'literal scalar': (size) => `a: |\n${times(' x\n', size)}`,
  'literal scalar of long lines': (size) => `a: |\n${times(` ${'x'.repeat(60)}\n`, size)}`,
  'folded scalar': (size) => `a: >\n${times(' x\n', size)}`,
  'folded scalar with empty lines': (size) => `a: >\n${times(' x\n\n', size)}`,
  'empty lines of a scalar': (size) => `a: |\n${times('\n', size)} x`,
  'plain scalar': (size) => `a: x\n${times(' x\n', size)}`,
  'quoted scalar': (size) => `a: "x\n${times(' x\n', size)}"`,
  'single quoted scalar': (size) => `a: 'x\n${times(' x\n', size)}'`,
  'single quotes': (size) => `a: '${times("''", size)}'`,
  'blanks before a break': (size) => `a: "${times(' ', size)}\n"`,
  'plain words': (size) => times('a ', size),
  'plain hashes': (size) => times('a#', size),
  indentation: (size) => Array.from({ length: Math.sqrt(2 * size) }, (_, i) => `${' '.repeat(i)}a:\n`).join(''),
  documents: (size) => times('---\n', size),
  directives: (size) => times('%YAML 1.1\n', size),
  tabs: (size) => times('\t', size),
  'whole number': (size) => `a: ${times('1', size)}`,
  'number with underscores': (size) => `a: ${times('1_', size)}1`,
  'number in base 60': (size) => `a: 1${times(':0', size)}`,
  'number in base 16': (size) => `a: 0x${times('f', size)}`,
  binary: (size) => `a: !!binary ${times('YWFh', size)}`,
  'nested maps in braces': (size) => times('{a: ', size),
  'pairs in brackets': (size) => `[${times('a: b,', size)}]`,
  'words on lines in brackets': (size) => `[${times('a\n', size)}]`,
  'closing brackets': (size) => times(']', size),
  'carriage returns': (size) => times('a: 0\r\n', size),
};

const kindOf = (group: string, version: string, kind: string) => must(findKind(group, version, kind), kind);
const CONFIG_MAP = kindOf('', 'v1', 'ConfigMap');
const POD = kindOf('', 'v1', 'Pod');
const STORED: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'b' } };
const RUNNING = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'b' } } as KubeObject;

/** Valid objects whose last part grows. */
const OBJECTS: Readonly<Record<string, Shape>> = {
  'one long value': (size) => `{"data":{"a":"${times('a', size)}"}}`,
  'long values': (size) => `{"data":{${numbered(size, (i) => `"k${i}":"${'a'.repeat(1000)}"`, ',')}}}`,
  values: (size) => `{"data":{${numbered(Math.min(size, 700_000), (i) => `"k${i}":"a"`, ',')}}}`,
  'binary value': (size) => `{"binaryData":{"a":"${times('YWFh', size)}"}}`,
  'binary value as numbers': (size) => `{"binaryData":{"a":[${times('1,', Math.min(size, 150_000))}1]}}`,
  labels: (size) => `{"metadata":{"labels":{${numbered(Math.min(size, 700_000), (i) => `"k${i}":"a"`, ',')}}}}`,
  annotations: (size) =>
    `{"metadata":{"annotations":{${numbered(Math.min(size, 700_000), (i) => `"k${i}":"a"`, ',')}}}}`,
  finalizers: (size) => `{"metadata":{"finalizers":[${numbered(Math.min(size, 700_000), (i) => `"a.b/k${i}"`, ',')}]}}`,
  'unknown fields': (size) => `{${numbered(Math.min(size, 700_000), (i) => `"k${i}":0`, ',')}}`,
  'unknown fields below a long key': (size) =>
    `{"metadata":{"${times('a', size / 2)}":0,${numbered(size / 4, (i) => `"k${i}":0`, ',')}}}`,
};

const PATCH_BODIES: Readonly<Record<string, Shape>> = {
  'adds to the end': (size) =>
    `[{"op":"add","path":"/list","value":[]},${numbered(size, () => '{"op":"add","path":"/list/-","value":0}', ',')}]`,
  'adds to the front': (size) =>
    `[{"op":"add","path":"/list","value":[]},${numbered(size, () => '{"op":"add","path":"/list/0","value":0}', ',')}]`,
  copies: (size) =>
    `[{"op":"add","path":"/a","value":{}},${numbered(size, () => '{"op":"copy","from":"/a","path":"/a/b"}', ',')}]`,
  'deep paths': (size) => `[${numbered(size, () => `{"op":"test","path":"${'/a'.repeat(400)}","value":0}`, ',')}]`,
  'one deep path': (size) => `[{"op":"add","path":"${times('/a', size)}","value":0}]`,
  tests: (size) => `[${numbered(size, () => '{"op":"test","path":"/metadata/name","value":"a"}', ',')}]`,
  'tests of a large value': (size) =>
    `[{"op":"add","path":"/a","value":[${times('0,', size / 4)}0]},${numbered(size / 2, () => '{"op":"test","path":"/a","value":[0]}', ',')}]`,
};

const containers = (size: number, each: (i: number) => string): string =>
  `{"spec":{"containers":[${numbered(size, each, ',')}]}}`;

const STRATEGIC_BODIES: Readonly<Record<string, Shape>> = {
  containers: (size) => containers(Math.min(size, 800_000), (i) => `{"name":"c${i}","image":"a"}`),
  'containers to delete': (size) => containers(Math.min(size, 800_000), (i) => `{"name":"c${i}","$patch":"delete"}`),
  'one container again and again': (size) => containers(Math.min(size, 800_000), () => '{"name":"c"}'),
  'order of containers': (size) =>
    `{"spec":{"$setElementOrder/containers":[${numbered(Math.min(size, 400_000), (i) => `{"name":"c${i}"}`, ',')}],"containers":[${numbered(Math.min(size, 400_000), (i) => `{"name":"c${i}"}`, ',')}]}}`,
  'keys to retain': (size) =>
    `{"spec":{"$retainKeys":[${numbered(Math.min(size, 600_000), (i) => `"k${i}"`, ',')}],"hostname":"a"}}`,
  finalizers: (size) => `{"metadata":{"finalizers":[${numbered(Math.min(size, 600_000), (i) => `"a/k${i}"`, ',')}]}}`,
  'finalizers to delete': (size) =>
    `{"metadata":{"$deleteFromPrimitiveList/finalizers":[${numbered(Math.min(size, 600_000), (i) => `"a/k${i}"`, ',')}]}}`,
  'misplaced directives': (size) =>
    `{"spec":{"containers":[${numbered(Math.min(size, 600_000), () => '{"$patch":"x"}', ',')}]}}`,
};

const PROTOBUF_BODIES: Readonly<Record<string, (size: number) => Uint8Array>> = {
  'empty fields': (size) => frame(Buffer.alloc(size, Buffer.from([0x12, 0]))),
  'unknown numbers': (size) => frame(Buffer.alloc(size, Buffer.from([0x78, 1]))),
  'long numbers': (size) => frame(Buffer.alloc(size, 0x80)),
  'nested groups': (size) => frame(Buffer.alloc(size, 0x0b)),
  'nested messages': (size) => frame(nested(Math.min(size, 200_000))),
  values: (size) =>
    encodeProtobuf({
      ...STORED,
      data: Object.fromEntries(Array.from({ length: Math.min(size / 12, 40_000) }, (_, i) => [`k${i}`, 'a'])),
    } as KubeObject),
  'long value': (size) => encodeProtobuf({ ...STORED, data: { a: 'a'.repeat(size) } } as KubeObject),
};

function frame(body: Buffer): Uint8Array {
  return Buffer.concat([
    Buffer.from('k8s\0'),
    Buffer.from([0x0a, 0x0f, 0x0a, 2]),
    Buffer.from('v1'),
    Buffer.from([0x12, 9]),
    Buffer.from('ConfigMap'),
    Buffer.from([0x12]),
    varint(body.length),
    body,
  ]);
}

function varint(value: number): Buffer {
  const out: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...out, rest]);
    out.push((rest % 128) | 128);
  }
}

function nested(size: number): Buffer {
  const heads: Buffer[] = [];
  for (let length = 0; length < size; ) {
    const head = Buffer.concat([Buffer.from([0x0a]), varint(length)]);
    heads.push(head);
    length += head.length;
  }
  return Buffer.concat(heads.reverse());
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text);

export const bodyCases: readonly ParserCase[] = [
  ...casesOf('apimachinery/parsePlainBody json', MAX_BODY, JSON_TEXTS, (text) => {
    const bytes = bytesOf(text);
    return () => parsePlainBody(bytes, 'json');
  }),
  ...casesOf('apimachinery/readApplyConfig', MAX_BODY, YAML_TEXTS, (text) => {
    const bytes = bytesOf(text);
    return () => readApplyConfig(bytes);
  }),
  ...casesOf('apimachinery/decodeObject json', MAX_BODY, OBJECTS, (text) => {
    const bytes = bytesOf(text);
    return () => decodeObject({ bytes, mediaType: 'application/json', definition: CONFIG_MAP, mode: 'Strict' });
  }),
  ...casesOf(
    'apiserver/decodeDeleteOptions yaml',
    MAX_BODY,
    {
      'empty items': YAML_TEXTS['empty items'] ?? times.bind(null, ','),
      mapping: YAML_TEXTS['mapping'] ?? times.bind(null, 'a'),
    },
    (text) => {
      const bytes = bytesOf(text);
      return () => decodeDeleteOptions(bytes, 'application/yaml', () => ({}));
    },
  ),
  ...casesOf('apimachinery/applyPatch json patch', MAX_BODY, PATCH_BODIES, (text) => {
    const bytes = bytesOf(text);
    return () =>
      applyPatch(STORED, { type: 'application/json-patch+json', bytes }, { definition: CONFIG_MAP, mode: 'Strict' });
  }),
  ...casesOf('apimachinery/applyJsonPatch', MAX_BODY, { adds: (size) => `${size}` }, (text) => {
    const operations = Array.from(
      { length: Math.min(10_000, Number(text) / 40) },
      () => ({ op: 'add', path: '/a/0', value: 0 }) as const,
    );
    return () => applyJsonPatch({ a: [] }, operations);
  }),
  ...casesOf('apimachinery/applyPatch merge patch', MAX_BODY, OBJECTS, (text) => {
    const bytes = bytesOf(text);
    return () =>
      applyPatch(STORED, { type: 'application/merge-patch+json', bytes }, { definition: CONFIG_MAP, mode: 'Strict' });
  }),
  ...casesOf('apimachinery/applyPatch strategic merge patch', MAX_BODY, STRATEGIC_BODIES, (text) => {
    const bytes = bytesOf(text);
    return () =>
      applyPatch(
        RUNNING,
        { type: 'application/strategic-merge-patch+json', bytes },
        { definition: POD, mode: 'Strict' },
      );
  }),
  ...Object.entries(PROTOBUF_BODIES).map(
    ([shape, of]): ParserCase => ({
      parser: 'apimachinery/decodeProtobuf',
      shape,
      largest: MAX_BODY,
      prepare: (size) => {
        const bytes = of(size);
        return () => decodeProtobuf(bytes, { apiVersion: 'v1', kind: 'ConfigMap' });
      },
    }),
  ),
  ...casesOf('apiserver/formatYaml', MAX_WRITTEN, OBJECTS, (text) => {
    const value: unknown = JSON.parse(text);
    return () => formatYaml(value);
  }),
];

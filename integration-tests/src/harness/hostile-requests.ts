import { Buffer } from 'node:buffer';
import type { Random } from '@gantry/base';
import { mutate } from './mutations.ts';

/** A request as it goes over the wire: nothing in it needs to make sense. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** One object that may be written for real, or only tried. */
export interface Victim {
  /** Path of its collection. */
  readonly path: string;
  readonly name: string;
  /** A valid object of the kind, and its protobuf bytes. */
  readonly object: Readonly<Record<string, unknown>>;
  readonly protobuf: Uint8Array;
  /** False for kinds that a cluster must not really be given at random (webhooks, nodes): they are only tried, by dry run. */
  readonly real: boolean;
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
const JSON_TYPE = 'application/json';
const EMPTY = new Uint8Array(0);

const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
const TYPES = [
  JSON_TYPE,
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/cbor',
  'text/plain',
  'application/json; charset=utf-16',
  'application/json;',
  ';',
  '*/*',
  'multipart/form-data; boundary=x',
  ...PATCH_TYPES,
];
const TEXTS = [
  '',
  '0',
  '-1',
  '1e9',
  '9223372036854775808',
  'NaN',
  'null',
  'true',
  '%00',
  '%ff',
  '../..',
  'a=b=c',
  'a in (b',
  'a in ()',
  '!a,!!b',
  'a notin (b,c),x>1',
  ',,,',
  'metadata.name=',
  'metadata.name==a,metadata.name!=b',
  'spec.nodeName in (a)',
  'All',
  'Strict',
  'Exact',
  'NotOlderThan',
  'x'.repeat(3000),
  'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0',
  '%F0%9F%92%A5',
  '\u00e9',
];
const PARAMETERS = [
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'labelSelector',
  'fieldSelector',
  'timeoutSeconds',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'pretty',
  'gracePeriodSeconds',
  'propagationPolicy',
  'orphanDependents',
  'includeObject',
  'unheardOf',
];
const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  [
    'accept',
    [
      '',
      ',',
      ';;;',
      'application/json;as=Table;v=v9;g=meta.k8s.io',
      'application/json;as=Chair',
      'image/png',
      'q=2',
      'a/b'.repeat(500),
    ],
  ],
  ['accept-encoding', ['gzip;q=', 'br', 'gzip, gzip;q=0', '*']],
  ['content-encoding', ['gzip', 'br', 'nothing']],
  ['authorization', ['Bearer ', 'Bearer a.b.c', 'Basic !!!', 'Bearer ' + 'x'.repeat(4000), 'Negotiate']],
  ['impersonate-user', ['', 'nobody', 'system:serviceaccount:a:b:c', '\u00ff']],
  ['impersonate-group', ['system:masters']],
  ['impersonate-extra-%zz', ['a']],
  ['if-none-match', ['*', '"', 'W/"x"']],
  ['if-match', ['*']],
  ['expect', ['something-else']],
  ['range', ['bytes=0-1', 'bytes=-']],
  ['upgrade', ['websocket', 'SPDY/3.1', 'h2c']],
  ['sec-websocket-protocol', ['v9.channel.k8s.io']],
  ['user-agent', ['', 'x'.repeat(2000), '\u00e9/1']],
  ['x-http-method-override', ['DELETE']],
  ['x-remote-user', ['system:admin']],
];

/** One hostile request, at or around an object. Requests that would not end by themselves (watches) carry a time limit of a second. */
export function hostileRequest(random: Random, victim: Victim): HostileRequest {
  const attack = pick(random, ATTACKS);
  const request = attack(random, victim);
  return victim.real || request.method === 'GET' ? request : { ...request, path: tried(request.path) };
}

type Attack = (random: Random, victim: Victim) => HostileRequest;

const ATTACKS: readonly Attack[] = [
  mutatedCreate,
  mutatedCreate,
  mutatedUpdate,
  mutatedUpdate,
  patchOf,
  patchOf,
  patchOf,
  brokenText,
  brokenText,
  brokenProtobuf,
  strangeQuery,
  strangeQuery,
  strangeHeaders,
  strangePath,
  deepBody,
];

function tried(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}dryRun=All`;
}

function encode(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function named(victim: Victim, name: string): unknown {
  const { metadata } = victim.object as { metadata: object };
  return { ...victim.object, metadata: { ...metadata, name } };
}

function mutatedCreate(random: Random, victim: Victim): HostileRequest {
  const name = `${victim.name}-${Math.floor(random() * 1e9).toString(36)}`;
  const body = encode(mutate(random, named(victim, name)));
  const validation = pick(random, ['', '?fieldValidation=Strict', '?fieldValidation=Ignore']);
  return { method: 'POST', path: `${victim.path}${validation}`, headers: { 'content-type': JSON_TYPE }, body };
}

function mutatedUpdate(random: Random, victim: Victim): HostileRequest {
  const part = pick(random, ['', '', '', '/status', '/scale', '/nothing']);
  const body = encode(mutate(random, named(victim, victim.name)));
  return { method: 'PUT', path: `${victim.path}/${victim.name}${part}`, headers: { 'content-type': JSON_TYPE }, body };
}

const DIRECTIVES = [
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
  '$unheardOf',
];
const POINTERS = [
  '',
  '/',
  '/metadata',
  '/metadata/labels/a~1b',
  '/metadata/labels/-',
  '/spec/0',
  '/spec/ports/99',
  '/~2',
  'spec',
  '/metadata/name',
  '/kind',
];

function patchOf(random: Random, victim: Victim): HostileRequest {
  const type = pick(random, PATCH_TYPES);
  const value = () => pick(random, [null, 1, 'x', [], {}, [{}], { a: null }, { $patch: 'delete' }, true] as const);
  let document: unknown;
  if (type === 'application/json-patch+json') {
    document = Array.from({ length: Math.floor(random() * 4) }, () => ({
      op: pick(random, ['add', 'remove', 'replace', 'move', 'copy', 'test', 'none', 1]),
      path: pick(random, POINTERS),
      from: pick(random, POINTERS),
      value: value(),
    }));
  } else {
    const mutated = mutate(random, named(victim, victim.name)) as Record<string, unknown> | null;
    document =
      random() < 0.5 && mutated !== null && typeof mutated === 'object'
        ? { ...mutated, [pick(random, DIRECTIVES)]: value() }
        : mutated;
  }
  const query = pick(random, [
    '',
    '?fieldManager=hostile',
    '?fieldManager=hostile&force=true',
    '?force=true',
    '?fieldManager=%00',
  ]);
  const body = encode(document);
  return { method: 'PATCH', path: `${victim.path}/${victim.name}${query}`, headers: { 'content-type': type }, body };
}

function brokenText(random: Random, victim: Victim): HostileRequest {
  const valid = Buffer.from(encode(named(victim, victim.name)));
  const at = Math.floor(random() * valid.length);
  const noise = Buffer.from(Array.from({ length: 8 }, () => Math.floor(random() * 256)));
  const bodies: readonly (() => Uint8Array)[] = [
    () => valid.subarray(0, at),
    () => Buffer.concat([valid.subarray(0, at), noise, valid.subarray(at)]),
    () => Buffer.from(valid.toString(), 'utf16le'),
    () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), valid]),
    () => Buffer.concat([valid, valid]),
    () => Buffer.from(valid.toString().replaceAll('"', "'")),
    () =>
      Buffer.from(
        'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n',
      ),
    () => Buffer.from('a: &a\n  b: *a\n<<: *a\n? [x]\n: !!binary zz\n'),
    () => Buffer.from('--- a\n--- b\n'),
    () => noise,
    () => EMPTY,
  ];
  const body = pick(random, bodies)();
  const method = pick(random, ['POST', 'PUT', 'PATCH', 'DELETE']);
  const path = method === 'POST' ? victim.path : `${victim.path}/${method === 'DELETE' ? 'h-none' : victim.name}`;
  return { method, path, headers: { 'content-type': pick(random, TYPES) }, body };
}

function brokenProtobuf(random: Random, victim: Victim): HostileRequest {
  const body = Buffer.from(victim.protobuf);
  const times = 1 + Math.floor(random() * 4);
  for (let i = 0; i < times; i++) {
    body[Math.floor(random() * body.length)] = Math.floor(random() * 256);
  }
  const cut = random() < 0.3 ? body.subarray(0, Math.floor(random() * body.length)) : body;
  const method = pick(random, ['POST', 'PUT']);
  const path = method === 'POST' ? victim.path : `${victim.path}/${victim.name}`;
  return { method, path: tried(path), headers: { 'content-type': 'application/vnd.kubernetes.protobuf' }, body: cut };
}

function strangeQuery(random: Random, victim: Victim): HostileRequest {
  const count = 1 + Math.floor(random() * 3);
  const query = Array.from({ length: count }, () => {
    const text = pick(random, TEXTS);
    return `${pick(random, PARAMETERS)}=${text.startsWith('%') ? text : encodeURIComponent(text)}`;
  });
  const method = pick(random, ['GET', 'GET', 'GET', 'POST', 'PUT', 'PATCH']);
  const watch = method === 'GET' && random() < 0.3 ? ['watch=true', 'timeoutSeconds=1'] : [];
  const collection = method === 'POST' || (method === 'GET' && random() < 0.7);
  const path = `${collection ? victim.path : `${victim.path}/${victim.name}`}?${[...watch, ...query].join('&')}`;
  const type = method === 'PATCH' ? pick(random, PATCH_TYPES) : JSON_TYPE;
  const body = method === 'GET' ? EMPTY : encode(named(victim, victim.name));
  return { method, path: method === 'GET' ? path : tried(path), headers: { 'content-type': type }, body };
}

function strangeHeaders(random: Random, victim: Victim): HostileRequest {
  const headers: Record<string, string> = {};
  for (let i = 0; i < 2; i++) {
    const [name, values] = pick(random, HEADERS);
    headers[name.replace('%zz', '%25')] = Buffer.from(pick(random, values)).toString('latin1');
  }
  return { method: 'GET', path: `${victim.path}${pick(random, ['', `/${victim.name}`])}`, headers, body: EMPTY };
}

function strangePath(random: Random, victim: Victim): HostileRequest {
  const segment = pick(random, [
    '%',
    '%2e%2e',
    '%2F',
    '%00',
    '%ff',
    '..',
    '//',
    'x'.repeat(5000),
    'status',
    'status/status',
    'proxy',
    'log',
    'exec',
    'binding',
    'eviction',
    'token',
    'finalize',
    'ephemeralcontainers',
    'resize',
    'UPPER',
    ';a=b',
    '~',
  ]);
  const path = pick(random, [
    `${victim.path}/${segment}`,
    `${victim.path}/${victim.name}/${segment}`,
    `/api/v1/namespaces/${segment}/pods`,
    `/apis/${segment}`,
    `/apis/apps/v1/${segment}`,
    `/${segment}`,
    `/openapi/v3/${segment}`,
    `/apis/${segment}/v1/things/a/b/c`,
  ]);
  const method = pick(random, ['GET', 'POST', 'PUT', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE', 'PROPFIND']);
  return { method, path: method === 'GET' ? path : tried(path), headers: { 'content-type': JSON_TYPE }, body: EMPTY };
}

/** Documents that break parsers: deep, wide, or with very long words. Mostly small, so that their number can be large. */
function deepBody(random: Random, victim: Victim): HostileRequest {
  const depth = pick(random, [200, 1_000, 10_000, 50_000]);
  const size = pick(random, [1_000, 100_000]);
  const bodies: readonly (() => string)[] = [
    () => '['.repeat(depth),
    () => `${'['.repeat(depth)}${']'.repeat(depth)}`,
    () => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    () => `{"kind":"x","apiVersion":"v1","metadata":{"labels":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}}`,
    () => JSON.stringify({ ...victim.object, metadata: { name: 'a'.repeat(size) } }),
    () =>
      JSON.stringify({ ...victim.object, metadata: { name: victim.name, annotations: { a: 'b'.repeat(size * 4) } } }),
    () =>
      JSON.stringify({
        ...victim.object,
        [victim.name]: Array.from({ length: size / 100 }, (_, i) => ({ [`k${i}`]: i })),
      }),
    () => `{${'"a":1,'.repeat(size / 10)}"b":2}`,
    () => `${'- '.repeat(Math.min(depth, 2000))}a`,
    () => '9'.repeat(size),
  ];
  const type = pick(random, [JSON_TYPE, 'application/yaml', ...PATCH_TYPES]);
  const method = PATCH_TYPES.includes(type) ? 'PATCH' : pick(random, ['POST', 'PUT']);
  const path = method === 'POST' ? victim.path : `${victim.path}/${victim.name}`;
  return {
    method,
    path: `${tried(path)}&fieldManager=hostile`,
    headers: { 'content-type': type },
    body: Buffer.from(pick(random, bodies)()),
  };
}

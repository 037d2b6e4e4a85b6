import { expect, test } from 'vitest';
import type { Session } from '../api/http.ts';
import { linesOf } from '../watch/lines.ts';
import { createRecordedApi, recordedKinds } from './recorded-api.ts';
import { readRecording, type RunFile } from './recording.ts';

/** As docs/storage.md says: format, sealing, index, the header's length at 4; then the JSON. */
function stored(object: object, index = 0, sealing = 0): string {
  const header = Buffer.alloc(33);
  header.set([1, sealing, index, 0, 0, 33]);
  return Buffer.concat([header, Buffer.from(JSON.stringify(object))]).toString('base64');
}

const pod = (name: string, phase: string, labels = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'a', uid: name, labels },
  status: { phase },
});
const key = (of: string, value: string) => ({ key: `/registry/${of}`, value });
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'a' } };

function file(path: string, ...lines: readonly unknown[]): RunFile {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return {
    path,
    size: texts.join('').length,
    text: () => Promise.resolve(texts.join('\n')),
    async *lines() {
      yield* texts;
    },
  };
}

const RUN = file('run.json', { startedAt: '2026-01-01T00:00:00Z', startedAtMs: 5_000, clusterId: 'gantry-1' });
const INITIAL = file('etcd/initial.jsonl', {
  revision: 10,
  keys: [
    key('pods/a/one', stored(pod('one', 'Pending', { app: 'web' }), 3)),
    key('apps/deployments/a/web', stored(deployment)),
    key('secrets/a/hidden', stored({ kind: 'Secret' }, 0, 1)),
    { key: '/gantry/incarnation', value: '' },
  ],
});
const put = (revision: number, of: string, object: object) => ({
  type: 'put',
  modRevision: revision,
  ...key(of, stored(object)),
});
/** The first member was cut off and lacks revision 12; the second one reports 11 later. */
const MEMBERS = [
  file(
    'etcd/etcd-0.jsonl',
    { atMs: 5_500, opened: { fromRevision: 11 } },
    { atMs: 6_000, revision: 11, events: [put(11, 'pods/a/one', pod('one', 'Running', { app: 'web' }))] },
  ),
  file(
    'etcd/etcd-1.jsonl',
    { atMs: 7_000, revision: 11, events: [put(11, 'pods/a/one', pod('one', 'Running', { app: 'web' }))] },
    { atMs: 8_000, revision: 12, events: [put(12, 'pods/a/two', pod('two', 'Pending'))] },
    { atMs: 9_500, revision: 13, events: [{ type: 'delete', key: '/registry/pods/a/one', modRevision: 13 }] },
  ),
];
const MEMBER = file('etcd/etcd-0.jsonl', { atMs: 5_500, opened: { fromRevision: 11 } });
const tooLong = (path: string): RunFile => ({
  ...file(path),
  lines: () => linesOf(new Blob(['x'.repeat(17 * 2 ** 20)]).stream()),
});
const session: Session = { user: 'jane', groups: [], csrf: '', cluster: { id: 'gantry-1', version: '' } };
const read = () => readRecording('run', [RUN, INITIAL, ...MEMBERS]);

async function openApi() {
  const api = createRecordedApi(await read(), session);
  const names = async (path: string) => {
    const { items } = await api.json<{ items: { metadata: { name: string } }[] }>(path);
    return items.map(({ metadata }) => metadata.name);
  };
  return { api, names };
}

test('each version has the objects that etcd held then, also what only one member reported', async () => {
  const recording = await read();
  const phases = (revision: number) =>
    recording
      .objectsAt('pods', '', revision * 256)
      .map((object) => [object.metadata.name, (object as { status?: { phase?: string } }).status?.phase]);
  expect(phases(10)).toEqual([['one', 'Pending']]);
  expect(phases(11)).toEqual([['one', 'Running']]);
  expect(phases(12)).toEqual([
    ['one', 'Running'],
    ['two', 'Pending'],
  ]);
  expect(phases(13)).toEqual([['two', 'Pending']]);
  expect(recording.objectsAt('pods', 'b', 13 * 256)).toEqual([]);
  expect(recording.objectsAt('pods', 'a', 10 * 256)[0]?.metadata.resourceVersion).toBe(String(10 * 256 + 3));
});

test('marks have the times of the first report', async () => {
  const begin = Date.parse('2026-01-01T00:00:00Z');
  expect((await read()).marks).toEqual([
    { version: 11 * 256 - 1, at: begin },
    { version: 12 * 256 - 1, at: begin + 1_000 },
    { version: 13 * 256 - 1, at: begin + 3_000 },
    { version: 14 * 256 - 1, at: begin + 4_500 },
  ]);
});

test('kinds are those of objects that can be read: sealed ones are left out', async () => {
  expect(recordedKinds(await read()).map(({ id, version, isNamespaced }) => [id, version, isNamespaced])).toEqual([
    ['deployments.apps', 'v1', true],
    ['pods', 'v1', true],
  ]);
});

test('lists are answered at a version, of a namespace, by selectors, and as Tables', async () => {
  const { api, names } = await openApi();
  expect(await names('/api/v1/pods')).toEqual(['two']);
  expect(await names(`/api/v1/namespaces/a/pods?resourceVersion=${12 * 256}&resourceVersionMatch=Exact`)).toEqual([
    'one',
    'two',
  ]);
  expect(await names(`/api/v1/pods?resourceVersion=${12 * 256}&labelSelector=app%3Dweb`)).toEqual(['one']);
  expect(await names(`/api/v1/pods?resourceVersion=${12 * 256}&fieldSelector=metadata.name!%3Done`)).toEqual(['two']);
  expect(await names('/apis/apps/v1/namespaces/a/deployments')).toEqual(['web']);
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const table = await (await api.fetch(`/api/v1/pods?resourceVersion=${11 * 256}`, { accept })).json();
  expect(table).toMatchObject({ kind: 'Table', rows: [{ cells: ['one', 'Running', null] }] });
});

test('what was not recorded is not found, and nothing can be changed', async () => {
  const { api } = await openApi();
  await expect(api.fetch('/gantry/v1/leaders')).rejects.toMatchObject({ reason: 'NotFound' });
  await expect(api.fetch('/api/v1/pods', { method: 'POST' })).rejects.toMatchObject({ reason: 'MethodNotAllowed' });
  for (const query of ['fieldSelector=x', 'resourceVersion=abc', `resourceVersion=${'9'.repeat(400)}`])
    await expect(api.fetch(`/api/v1/pods?${query}`)).rejects.toMatchObject({ reason: 'BadRequest' });
  const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  expect(await api.json(review, { method: 'POST' })).toEqual({ status: { allowed: false } });
});

test('values that are no objects are left out, and names are only texts', async () => {
  const strange = [
    null,
    5,
    'text',
    [],
    { kind: 'Pod', metadata: { name: 'no version' } },
    { apiVersion: 5, kind: 'Pod', metadata: { name: 'a' } },
    { apiVersion: 'v1', kind: ['Pod'], metadata: { name: 'a' } },
    { apiVersion: 'v1', kind: 'Pod' },
    { apiVersion: 'v1', kind: 'Pod', metadata: 'text' },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: { toString: 'x' } } },
  ];
  const markup = '<img src=x onerror=alert(1)>';
  const keys = [
    ...strange.map((object, index) => key(`pods/a/strange-${index}`, stored(object as object))),
    key('pods/a/short', Buffer.from([1, 0, 0]).toString('base64')),
    key('pods/a/header', Buffer.from([1, 0, 0, 0, 255, 255]).toString('base64')),
    key('pods/__proto__/constructor', stored({ ...pod('constructor', 'Running'), ['__proto__']: { phase: 'x' } })),
    key('__proto__/a/one', stored({ ...pod('one', 'Running'), kind: '__proto__' })),
    key(`pods/a/${markup}`, stored(pod(markup, markup))),
    key('pods', ''),
    key('pods/a/b/c', ''),
    key('/', ''),
  ];
  const recording = await readRecording('run', [RUN, file('etcd/initial.jsonl', { revision: 10, keys }), ...MEMBERS]);
  const api = createRecordedApi(recording, session);
  const { items } = await api.json<{ items: { metadata: { name: string } }[] }>(`/api/v1/pods?resourceVersion=${2560}`);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(['constructor', markup]);
  expect(recordedKinds(recording).map(({ id }) => id)).toEqual(['pods', '__proto__']);
  expect(Object.hasOwn(Object.prototype, 'phase')).toBe(false);
  await expect(api.fetch('/api/v1/namespaces/%E0%A4%A/pods')).rejects.toMatchObject({ reason: 'NotFound' });
});

test.each([
  [[RUN, INITIAL], 'it needs run.json and etcd/*.jsonl'],
  [[file('run.json', 'x'), INITIAL, ...MEMBERS], 'run.json: is no JSON object'],
  [[file('run.json', { startedAt: 'x', startedAtMs: 0, clusterId: '' }), INITIAL, ...MEMBERS], 'startedAt is no time'],
  [[file('run.json', '[1]'), INITIAL, ...MEMBERS], 'run.json: is no JSON object'],
  [
    [file('run.json', { startedAt: '+275760-09-13T00:00:00Z', startedAtMs: 0, clusterId: '' }), INITIAL, ...MEMBERS],
    'run.json: startedAt is no time',
  ],
  [
    [file('run.json', '{"startedAt":"2026-01-01T00:00:00Z","startedAtMs":1e999}'), INITIAL, ...MEMBERS],
    'run.json: startedAtMs is no time in milliseconds',
  ],
  [
    [RUN, file('etcd/initial.jsonl', { revision: '1', keys: [] }), ...MEMBERS],
    'etcd/initial.jsonl:1: revision is no revision',
  ],
  [
    [RUN, file('etcd/initial.jsonl', '{"revision":1e300,"keys":[]}'), ...MEMBERS],
    'etcd/initial.jsonl:1: revision is no revision',
  ],
  [
    [
      RUN,
      file('etcd/initial.jsonl', { revision: 1, keys: [{ key: '/registry/pods/a/b', value: 'no base64' }] }),
      ...MEMBERS,
    ],
    'etcd/initial.jsonl:1: value is no base64',
  ],
  [
    [RUN, INITIAL, file('etcd/etcd-0.jsonl', { atMs: 1, events: [null] })],
    'etcd/etcd-0.jsonl:1: events[0] is no object',
  ],
  [[RUN, INITIAL, file('etcd/etcd-0.jsonl', { events: [] })], 'etcd/etcd-0.jsonl:1: atMs is no time in milliseconds'],
  [[RUN, INITIAL, file('etcd/etcd-0.jsonl', '{"events":')], 'etcd/etcd-0.jsonl:1: is no JSON object'],
  [
    [RUN, INITIAL, file('etcd/etcd-0.jsonl', { atMs: 1, events: [{ type: 'put' }] })],
    'etcd/etcd-0.jsonl:1: value is no text',
  ],
  [[RUN, { ...INITIAL, size: 2 ** 30 }, ...MEMBERS], 'the files have more than 1024 MiB'],
  [
    [RUN, INITIAL, ...Array.from({ length: 4 }, () => ({ ...MEMBER, size: 2 ** 28 }))],
    'the files have more than 1024 MiB',
  ],
  [[RUN, INITIAL, tooLong('etcd/etcd-0.jsonl')], 'etcd/etcd-0.jsonl:1: a line has more than 16777216 characters'],
])('a folder that is none is refused: %#', async (files, message) => {
  await expect(readRecording('run', files)).rejects.toThrow(message);
});

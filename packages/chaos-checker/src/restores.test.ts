import { Buffer } from 'node:buffer';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClientLine, EtcdEvent, RestoreLine } from './artifacts.ts';
import { check, checkUntil } from './check.ts';
import { REGISTRY } from './history/stored-value.ts';
import { type EditableRun, writeRun } from './testing/editable-run.ts';
import { encodeStored } from './testing/encode-stored.ts';
import { generateRun } from './testing/generated-run.ts';

const KEY = `${REGISTRY}configmaps/a/c`;
const RESTORED_AT = 1_004;
const versionOf = (revision: number) => String(revision * 256);

const valueOf = (value: string) =>
  encodeStored({ metadata: { name: 'c', namespace: 'a', uid: 'u' }, data: { value } }).toString('base64');

const put = (revision: number, version: number, value: string): EtcdEvent => ({
  type: 'put',
  key: KEY,
  value: valueOf(value),
  createRevision: 3,
  modRevision: revision,
  version,
});

/** A request and its response. */
function request(
  atMs: number,
  verb: 'create' | 'get' | 'update',
  { value, before, after }: { readonly value?: string; readonly before?: number; readonly after: number },
): ClientLine[] {
  const about = { op: `c.${atMs}`, verb, resource: 'configmaps', key: 'a/c' };
  const told = { resourceVersion: versionOf(after), uid: 'u', ...(value === undefined ? {} : { value }) };
  const asked = verb === 'get' || value === undefined ? {} : { value };
  const guarded = before === undefined ? {} : { resourceVersion: versionOf(before) };
  return [
    { atMs, ...about, phase: 'invoke', ...asked, ...guarded },
    { atMs: atMs + 10, ...about, phase: 'ok', ...told },
  ];
}

/** A counter that is written three times; a snapshot of the second time is restored, and it is written once more. */
function exampleRun() {
  const run = generateRun([]);
  const revisions = [
    { atMs: 105, revision: 3, events: [put(3, 1, 'v0')] },
    { atMs: 205, revision: 4, events: [put(4, 2, 'v1')] },
    { atMs: 305, revision: 5, events: [put(5, 3, 'v2')] },
    { atMs: 505, revision: RESTORED_AT + 1, events: [put(RESTORED_AT + 1, 3, 'v3')] },
  ];
  run.history.push(...revisions);
  run.run = { ...run.run, lastRevision: RESTORED_AT + 1 };
  const lines = [
    ...request(100, 'create', { value: 'v0', after: 3 }),
    ...request(200, 'update', { value: 'v1', before: 3, after: 4 }),
    ...request(300, 'update', { value: 'v2', before: 4, after: 5 }),
    ...request(400, 'get', { value: 'v1', after: 4 }),
    ...request(500, 'update', { value: 'v3', before: 4, after: RESTORED_AT + 1 }),
  ];
  run.clients.set('counters-0.jsonl', lines);
  const restored = { key: KEY, value: valueOf('v1'), createRevision: 3, modRevision: 4, version: 2 };
  const restore: RestoreLine = {
    atMs: 390,
    stoppedMs: 350,
    snapshotRevision: 4,
    lastRevision: 5,
    revision: RESTORED_AT,
    keys: [...run.initial.keys, restored],
  };
  return { run, lines, restore };
}

async function verdictOf(run: EditableRun, restores: readonly RestoreLine[]) {
  await using written = await writeRun(run, { 'restores.jsonl': restores });
  return await check(written.folder);
}

const violationsOf = ({ invariants }: Awaited<ReturnType<typeof check>>) =>
  invariants.flatMap(({ invariant, violations }) => violations.map(({ what }) => `${invariant}: ${what}`));

describe('a run in which a snapshot was restored', () => {
  it('has no violation: what was written after the snapshot is lost by intent', async () => {
    const { run, restore } = exampleRun();
    const verdict = await verdictOf(run, [restore]);
    expect(violationsOf(verdict)).toEqual([]);
    expect(verdict.problems).toEqual([]);
    const checked = new Map(verdict.invariants.map((one) => [one.invariant, one.checked]));
    expect([checked.get('I25'), checked.get('I32'), checked.get('I33')]).toEqual([5, 3, 4]);
  });

  it('is unusable without the record of the restore', async () => {
    const { run } = exampleRun();
    const { problems } = await verdictOf(run, []);
    expect(problems).toContainEqual(expect.stringContaining('revision 1005 follows 5: events are missing'));
  });

  it('is judged up to the restore while it goes on', async () => {
    const { run } = exampleRun();
    await using written = await writeRun(run);
    await writeFile(path.join(written.folder, 'begun.json'), JSON.stringify(run.run));
    const { invariants } = await checkUntil(written.folder, 1_000);
    expect(invariants.flatMap(({ violations }) => violations)).toEqual([]);
  });

  it('has a violation if the restored state is not that of the snapshot', async () => {
    const { run, restore } = exampleRun();
    const [last] = restore.keys.slice(-1);
    if (last === undefined) throw new Error('no key');
    const older = { ...restore, keys: [...restore.keys.slice(0, -1), { ...last, version: 1, modRevision: 3 }] };
    expect(violationsOf(await verdictOf(run, [older]))).toContain(
      `I33: ${KEY} is restored in version 1, and the snapshot has 2`,
    );
    const other = { ...restore, keys: [...restore.keys.slice(0, -1), { ...last, value: valueOf('v0') }] };
    expect(violationsOf(await verdictOf(run, [other]))).toContain(
      `I33: ${KEY} is restored with another value than the snapshot has`,
    );
    const more = { ...restore, keys: [...restore.keys, { ...last, key: `${KEY}2` }] };
    expect(violationsOf(await verdictOf(run, [more]))).toContain(
      `I33: ${KEY}2 is restored in version 2, and the snapshot has none`,
    );
    const without = { ...restore, keys: restore.keys.slice(0, -1) };
    expect(violationsOf(await verdictOf(run, [without]))).toContain(
      `I33: ${KEY} was in the snapshot, and is not restored`,
    );
  });

  it('has a violation if a client reads afterwards what was lost', async () => {
    const { run, lines, restore } = exampleRun();
    lines.splice(8, 0, ...request(430, 'get', { value: 'v2', after: 5 }));
    expect(violationsOf(await verdictOf(run, [restore]))).toContainEqual(expect.stringContaining('I25: '));
  });

  it.each([
    ['before the snapshot', 220, 4.5],
    ['before the restore', 320, 6],
    ['after it', 520, RESTORED_AT + 2],
    ['after it, with a version that was lost', 520, 5],
    ['after it, though it was sent before', 345, RESTORED_AT + 2],
  ])('has a violation if a write that was acknowledged %s is in no history', async (_, atMs, after) => {
    const { run, lines, restore } = exampleRun();
    const [sent, acknowledged] = request(atMs, 'update', { value: 'lost', after });
    if (sent === undefined || acknowledged === undefined) throw new Error('no request');
    lines.push(sent, { ...acknowledged, atMs: atMs === 345 ? 530 : acknowledged.atMs });
    lines.sort((one, other) => one.atMs - other.atMs);
    expect(violationsOf(await verdictOf(run, [restore]))).toContainEqual(
      expect.stringContaining(`I33: ${KEY}@${versionOf(after)} was acknowledged, but is not in etcd's history`),
    );
  });

  it('has no violation if a request was sent before the restore, and is done and acknowledged after it', async () => {
    const { run, lines, restore } = exampleRun();
    lines.splice(-2, 1, { ...lines.at(-2), atMs: 340 } as ClientLine);
    lines.sort((one, other) => one.atMs - other.atMs);
    const verdict = await verdictOf(run, [restore]);
    expect(violationsOf(verdict)).toEqual([]);
    expect(verdict.invariants.find(({ invariant }) => invariant === 'I25')?.checked).toBe(5);
  });

  it('is checked also where a client was told before the restore what it replaces after it', async () => {
    const { run, lines, restore } = exampleRun();
    const [get] = lines.splice(6, 2);
    expect(get).toMatchObject({ verb: 'get' });
    const verdict = await verdictOf(run, [restore]);
    expect(violationsOf(verdict)).toEqual([]);
    expect(verdict.invariants.find(({ invariant }) => invariant === 'I25')).toMatchObject({ checked: 4 });
  });

  it('has a violation if a write replaces what was lost', async () => {
    const { run, lines, restore } = exampleRun();
    lines.splice(-2, 2, ...request(500, 'update', { value: 'v3', before: 5, after: RESTORED_AT + 1 }));
    const violations = violationsOf(await verdictOf(run, [restore]));
    expect(violations).toContainEqual(
      expect.stringContaining(`I32: ${KEY}@${versionOf(RESTORED_AT + 1)} was to replace`),
    );
    expect(violations).toContainEqual(expect.stringContaining('I25: '));
  });

  it('has a violation if a watch that was opened before the restore delivers what never was', async () => {
    const { run, lines, restore } = exampleRun();
    const watch = { watch: 'w', key: 'a/c', uid: 'u' } as const;
    const item = (revision: number): ClientLine => ({
      ...watch,
      atMs: 510,
      type: 'MODIFIED',
      resourceVersion: versionOf(revision),
    });
    const opened = {
      watch: 'w',
      atMs: 345,
      type: 'OPEN',
      resource: 'configmaps',
      resourceVersion: versionOf(4),
    } as const;
    run.clients.set('watchers-0.jsonl', [opened, item(RESTORED_AT + 1)]);
    expect(violationsOf(await verdictOf(run, [restore]))).toEqual([]);
    run.clients.set('watchers-0.jsonl', [opened, item(5)]);
    expect(violationsOf(await verdictOf(run, [restore]))).toContainEqual(expect.stringContaining('I27: '));
    expect(lines).toHaveLength(10);
  });

  it('has a violation if a leader of the snapshot leads again, although the lost history had a later one', async () => {
    const { run, restore } = exampleRun();
    const term = (holder: string, epoch: number, modRevision: number, version: number): EtcdEvent => ({
      type: 'put',
      key: '/gantry/elections/e',
      value: Buffer.from(holder).toString('base64'),
      createRevision: epoch,
      modRevision,
      version,
    });
    const { key } = term('a', 4, 4, 1);
    const [elected, lost, after] = run.history.slice(-3);
    elected?.events.push(term('a', 4, 4, 1));
    lost?.events.push({ type: 'delete', key, modRevision: 5 });
    run.history.splice(-1, 0, { atMs: 320, revision: 6, events: [term('b', 6, 6, 1)] });
    after?.events.push(term('a', 4, RESTORED_AT + 1, 2));
    const { type: _, ...kept } = term('a', 4, 4, 1) as Extract<EtcdEvent, { type: 'put' }>;
    const record = { ...restore, lastRevision: 6, keys: [...restore.keys, kept] };
    expect(violationsOf(await verdictOf(run, [record]))).toEqual(['I1: /gantry/elections/e: epoch 4 follows 6']);
  });

  it('is unusable if the history before the restore is not whole, or the record contradicts itself', async () => {
    const { run, restore } = exampleRun();
    const { problems } = await verdictOf(run, [{ ...restore, lastRevision: 7 }]);
    expect(problems).toContainEqual(expect.stringContaining('ends at revision 5, and etcd had 7: events are missing'));
    await expect(verdictOf(run, [{ ...restore, lastRevision: 3 }])).rejects.toThrow(
      'lastRevision: is before the snapshot',
    );
    await expect(verdictOf(run, [{ ...restore, revision: 5 }])).rejects.toThrow(
      'revision: is one of the history before',
    );
  });
});

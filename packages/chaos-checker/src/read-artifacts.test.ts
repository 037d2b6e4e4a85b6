import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT_LINE, ENGINE_LINE, ETCD_LINE, FAULT_LINE, INITIAL_KEYS, METRIC_LINE } from './artifacts.ts';
import { ArtifactError, namesIn, readLines, readRun } from './read-artifacts.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'chaos-checker-'));
  await mkdir(path.join(folder, 'etcd'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const write = async (file: string, content: string | Uint8Array) => {
  await writeFile(path.join(folder, file), content);
};

async function all<T>(items: AsyncIterable<readonly [T, unknown]>): Promise<T[]> {
  const found: T[] = [];
  for await (const [item] of items) found.push(item);
  return found;
}

const RUN_JSON = {
  format: 1,
  clusterId: 'gantry-1',
  seed: 7,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:03:00Z',
  startedAtMs: 5,
  endedAtMs: 180_005,
  options: { duration: '3m' },
  plan: [{ id: 'f1', kind: 'kill', target: 'scheduler-1', atMs: 10, note: 'kept' }],
  incarnation: 'i1',
  etcdMembers: ['etcd-0'],
  firstRevision: 10,
  lastRevision: 20,
};
const PUT = { type: 'put', key: '/a', value: 'AA==', createRevision: 10, modRevision: 10, version: 1 };
const FAULT = { atMs: 1, id: 'f1', kind: 'kill', target: 'scheduler-1', phase: 'start' };

describe('readRun', () => {
  it('reads run.json, and keeps fields that it does not know', async () => {
    await write('run.json', `${JSON.stringify({ ...RUN_JSON, extra: 1 }, undefined, 2)}\n`);
    expect(await readRun(folder)).toEqual({ ...RUN_JSON, extra: 1 });
  });

  it('names the field that is wrong', async () => {
    await write('run.json', JSON.stringify({ ...RUN_JSON, etcdMembers: [] }));
    await expect(readRun(folder)).rejects.toThrow(/^run\.json:1: etcdMembers: /);
    await write('run.json', JSON.stringify({ ...RUN_JSON, plan: [{ ...RUN_JSON.plan[0], atMs: 'x' }] }));
    await expect(readRun(folder)).rejects.toThrow(/^run\.json:1: plan\.0\.atMs: /);
  });

  it('rejects a folder without run.json', async () => {
    await expect(readRun(folder)).rejects.toThrow('is not a run: run.json cannot be read');
  });
});

describe('readLines', () => {
  it('reads plain and compressed files, with or without an end of the last line', async () => {
    const lines = [JSON.stringify(FAULT), JSON.stringify({ ...FAULT, phase: 'heal' })];
    await write('faults.jsonl', lines.join('\n'));
    expect(await all(readLines(folder, 'faults.jsonl', FAULT_LINE))).toHaveLength(2);
    await write('more.jsonl.gz', gzipSync(`${lines.join('\n')}\n`));
    expect(await all(readLines(folder, 'more.jsonl', FAULT_LINE))).toHaveLength(2);
  });

  it('yields nothing for a file that does not exist', async () => {
    expect(await all(readLines(folder, 'faults.jsonl', FAULT_LINE))).toEqual([]);
  });

  it('names file, line and field', async () => {
    await write('faults.jsonl', `${JSON.stringify(FAULT)}\n${JSON.stringify({ ...FAULT, phase: 'begin' })}\n`);
    const reading = all(readLines(folder, 'faults.jsonl', FAULT_LINE));
    await expect(reading).rejects.toThrow(ArtifactError);
    await expect(reading).rejects.toThrow(/^faults\.jsonl:2: phase: /);
  });

  it('names the field of the variant that fits best', async () => {
    await write('etcd/m.jsonl', JSON.stringify({ atMs: 1, revision: 10, events: [PUT, { ...PUT, modRevision: -1 }] }));
    const reading = all(readLines(folder, 'etcd/m.jsonl', ETCD_LINE));
    await expect(reading).rejects.toThrow(/^etcd\/m\.jsonl:1: events\.1\.modRevision: /);
  });

  it('rejects a torn line and a torn archive', async () => {
    await write('faults.jsonl', `${JSON.stringify(FAULT)}\n{"atMs":`);
    await expect(all(readLines(folder, 'faults.jsonl', FAULT_LINE))).rejects.toThrow('faults.jsonl:2: not JSON');
    await write('more.jsonl.gz', gzipSync(JSON.stringify(FAULT)).subarray(0, 30));
    await expect(all(readLines(folder, 'more.jsonl', FAULT_LINE))).rejects.toThrow('more.jsonl:1: cannot be read');
  });

  it.each([
    ['etcd', ETCD_LINE, { atMs: 1, revision: 10, events: [PUT, { type: 'delete', key: '/a', modRevision: 11 }] }],
    ['etcd', ETCD_LINE, { atMs: 1, compacted: { fromRevision: 3, compactRevision: 9 } }],
    ['initial', INITIAL_KEYS, { revision: 9, keys: [{ ...PUT, type: undefined }] }],
    ['engine', ENGINE_LINE, { atMs: 1, action: 'die', id: 'c1', labels: { a: 'b' }, exitCode: 137 }],
    ['engine', ENGINE_LINE, { atMs: 1, snapshot: [{ id: 'c1', name: 'n', state: 'running', labels: {} }] }],
    ['client', CLIENT_LINE, { atMs: 1, op: '1', phase: 'invoke', verb: 'get', resource: 'pods', key: 'n/a' }],
    ['client', CLIENT_LINE, { atMs: 1, watch: '1', type: 'OPEN', resource: 'pods', resourceVersion: '9' }],
    ['client', CLIENT_LINE, { atMs: 1, observe: 'served', key: 'n/a', value: 'uid' }],
    ['metrics', METRIC_LINE, { atMs: 2, sentMs: 1, instance: 's-1', name: 'up', labels: {}, value: 1 }],
  ])('accepts a line of %s', async (_, schema, line) => {
    await write('x.jsonl', JSON.stringify(line));
    const read = await all<unknown>(readLines(folder, 'x.jsonl', schema));
    expect(read).toEqual([JSON.parse(JSON.stringify(line))]);
  });
});

describe('namesIn', () => {
  it('lists the files without their endings, and nothing of a folder that does not exist', async () => {
    await write('etcd/b.jsonl', '');
    await write('etcd/a.jsonl.gz', '');
    await write('etcd/other.txt', '');
    expect(await namesIn(folder, 'etcd')).toEqual(['a', 'b']);
    expect(await namesIn(folder, 'clients')).toEqual([]);
  });
});

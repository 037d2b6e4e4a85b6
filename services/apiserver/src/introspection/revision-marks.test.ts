import { ManualClock } from '@gantry/base/testing';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { expect, test } from 'vitest';
import { OldestRevision, RevisionMarks } from './revision-marks.ts';

const { signal } = new AbortController();

test('the oldest revision is found after each compaction, and costs one read otherwise', async () => {
  const etcd = new MemoryEtcd();
  let reads = 0;
  const oldest = new OldestRevision({
    range: (request, options) => {
      reads += 1;
      return etcd.kv.range(request, options);
    },
  });
  const write = async (times: number): Promise<number> => {
    let revision = 0;
    for (let i = 0; i < times; i++) {
      const put = { kind: 'put', key: '/x', value: Buffer.from(String(i)) } as const;
      ({ revision } = await etcd.kv.transact({ compare: [], success: [put], failure: [] }, { signal }));
    }
    return revision;
  };
  const newest = await write(40);
  expect(await oldest.find(signal)).toEqual({ oldest: 1, newest });
  for (const compacted of [17, 18, 39]) {
    etcd.compactHistory(compacted);
    expect(await oldest.find(signal)).toEqual({ oldest: compacted, newest });
    reads = 0;
    expect(await oldest.find(signal)).toEqual({ oldest: compacted, newest });
    expect(reads).toBe(1);
  }
  const later = await write(500);
  etcd.compactHistory(later);
  reads = 0;
  expect(await oldest.find(signal)).toEqual({ oldest: later, newest: later });
  expect(reads).toBeLessThan(15);
});

test('the newest revision is marked every five seconds, while there are writes, for as long as history may last', async () => {
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  let revision = 5;
  const marks = new RevisionMarks({ clock, revision: () => revision, keepMs: 60_000 });
  const stop = new AbortController();
  const running = marks.run(stop.signal);
  await clock.advance(60_000);
  expect(marks.list()).toEqual([{ resourceVersion: expect.any(String), at: '2026-01-01T00:00:00Z' }]);
  for (let i = 0; i < 100; i++) {
    revision += 1;
    await clock.advance(5000);
  }
  const list = marks.list();
  expect(list.length).toBeLessThanOrEqual(3 * 12 + 1);
  expect(list.at(-1)?.at).toBe('2026-01-01T00:09:20Z');
  expect(Number(list[1]?.resourceVersion)).toBeGreaterThan(Number(list[0]?.resourceVersion));
  stop.abort();
  await running;
});

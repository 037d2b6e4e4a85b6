import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { formatTime } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { type Etcd, EtcdError, type SnapshotPart } from '@gantry/etcd';
import { silentLogger } from '@gantry/service';
import { extract } from 'tar-stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keepSnapshots, type SnapshotSchedule } from './scheduled-snapshots.ts';
import { ensureRoom, pruneSnapshots, type SnapshotFacts, writeSnapshot } from './snapshot-file.ts';

const AT = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const FACTS: SnapshotFacts = {
  format: 1,
  clusterId: 'gantry-1',
  takenAt: '2026-01-01T00:00:00Z',
  revision: 7,
  keys: 'left-out',
  sealingKeys: ['a'],
};
const STATE = Buffer.alloc(100_000, 'state');
const COMPLETE = Buffer.concat([STATE, createHash('sha256').update(STATE).digest()]);

const signal = (): AbortSignal => new AbortController().signal;

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'snapshots-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** As etcd sends them: the checksum comes last, and is not counted. */
async function* partsOf(bytes: Buffer): AsyncGenerator<SnapshotPart> {
  for (let sent = 0; sent < bytes.length; sent += 32_768) {
    const part = bytes.subarray(sent, sent + 32_768);
    yield { bytes: part, remainingBytes: Math.max(0, STATE.length - sent - part.length) };
  }
}

async function readArchive(file: string): Promise<Record<string, Buffer>> {
  const entries: Record<string, Buffer> = {};
  const reader = extract();
  reader.on('entry', (header, stream, next) => {
    void buffer(stream).then((content) => {
      entries[header.name] = content;
      next();
    });
  });
  await pipeline(createReadStream(file), reader);
  return entries;
}

describe('the file of a scheduled snapshot', () => {
  it('has what the snapshot is and the whole state, for its owner alone', async () => {
    const folder = await newFolder();
    // Left by a process that was killed.
    await writeFile(join(folder, 'scheduled-2025-12-31T00-00-00Z.snapshot.partial'), 'x');
    const { name } = await writeSnapshot(folder, FACTS, partsOf(COMPLETE), signal());
    expect(await readdir(folder)).toEqual([name]);
    expect(name).toBe('scheduled-2026-01-01T00-00-00Z.snapshot');
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    const { 'snapshot.json': json = '', 'etcd.db': db } = await readArchive(join(folder, name));
    expect(JSON.parse(json.toString())).toEqual(FACTS);
    expect(db?.equals(COMPLETE)).toBe(true);
  });

  it.each([
    ['that is cut', COMPLETE.subarray(0, 60_000)],
    ['without its checksum', STATE],
    ['that was changed', Buffer.concat([Buffer.from('x'), COMPLETE.subarray(1)])],
    ['that is empty', Buffer.alloc(0)],
  ])('is not made of a state %s', async (_, bytes) => {
    const folder = await newFolder();
    await expect(writeSnapshot(folder, FACTS, partsOf(bytes), signal())).rejects.toThrow();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not made of a stream that fails', async () => {
    const folder = await newFolder();
    async function* failing(): AsyncGenerator<SnapshotPart> {
      yield { bytes: STATE.subarray(0, 1000), remainingBytes: STATE.length - 1000 };
      throw new EtcdError('unavailable', 'the member is gone');
    }
    await expect(writeSnapshot(folder, FACTS, failing(), signal())).rejects.toThrow('the member is gone');
    expect(await readdir(folder)).toEqual([]);
  });

  it('is removed when there are newer ones, and no other file is', async () => {
    const folder = await newFolder();
    const names = ['01', '02', '03'].map((day) => `scheduled-2026-01-${day}T00-00-00Z.snapshot`);
    for (const name of [...names, 'monday.snapshot']) await writeFile(join(folder, name), '');
    await pruneSnapshots(folder, 2, AT + 30 * 24 * HOUR_MS);
    expect((await readdir(folder)).sort()).toEqual(['monday.snapshot', ...names.slice(1)]);
  });

  it('is not begun when it would leave no room', async () => {
    const folder = await newFolder();
    await ensureRoom(folder, 1);
    await expect(ensureRoom(folder, 2 ** 60)).rejects.toThrow(/bytes left, and a snapshot of \d+ needs twice as many/);
  });
});

describe('scheduled snapshots', () => {
  const start = async (snapshotOf: (member: number) => AsyncIterable<SnapshotPart> = () => partsOf(COMPLETE)) => {
    const folder = await newFolder();
    const clock = new ManualClock(AT);
    const taken = new Set<number>();
    const failures: string[] = [];
    const status = async () => ({ revision: 7, dbSizeBytes: STATE.length });
    const etcd = {
      memberCount: 2,
      maintenance: { status, snapshot: ({ member = 0 }) => snapshotOf(member) },
    } as unknown as Etcd;
    const schedule: SnapshotSchedule = {
      ...{ folder, everyMs: HOUR_MS, keep: 2, clusterId: 'gantry-1', log: silentLogger },
      sealingKeys: async () => ['a'],
      onSnapshot: (takenAt) => void taken.add(takenAt),
      onFailure: async (reason) => void failures.push(reason),
    };
    const own = () => {
      const stop = new AbortController();
      const ended = keepSnapshots(etcd, schedule, { clock, random: () => 0.5 }, stop.signal);
      return async () => {
        stop.abort();
        await ended;
      };
    };
    const files = async () => (await readdir(folder)).sort();
    return { folder, clock, taken, failures, own, files };
  };
  const FIRST = 'scheduled-2026-01-01T00-00-00Z.snapshot';
  /** Advances the clock by `stepMs` until the condition holds. */
  const advanceUntil = async (clock: ManualClock, stepMs: number, condition: () => boolean) => {
    const look = async () => {
      if (!condition()) await clock.advance(stepMs);
      return condition();
    };
    await expect.poll(look, { interval: 10 }).toBe(true);
  };

  it('are taken at once and then each interval, and the newest are kept', async () => {
    const { clock, taken, own, files } = await start();
    const stop = own();
    await expect.poll(files).toEqual([FIRST]);
    await advanceUntil(clock, HOUR_MS, () => taken.size === 3);
    const names = [...taken].map((takenAt) => `scheduled-${formatTime(takenAt).replaceAll(':', '-')}.snapshot`);
    await expect.poll(files).toEqual(names.slice(1));
    await stop();
  });

  it('go on when another process becomes the owner: the folder tells when the next one is due', async () => {
    const { clock, taken, own, files } = await start();
    const stop = own();
    await expect.poll(() => taken.size).toBe(1);
    await stop();
    taken.clear();
    await clock.advance(HOUR_MS / 2);
    const stopOther = own();
    await expect.poll(() => [...taken]).toEqual([AT]);
    await advanceUntil(clock, 60_000, () => taken.size === 2);
    const sinceFirst = Math.max(...taken) - AT;
    expect(sinceFirst).toBeGreaterThanOrEqual(HOUR_MS);
    expect(sinceFirst).toBeLessThan(1.5 * HOUR_MS);
    expect(await files()).toHaveLength(2);
    await stopOther();
  });

  it('are taken although a wrong clock has left files of the future, which are removed first', async () => {
    const { folder, taken, own, files } = await start();
    for (const year of ['2031', '2032']) await writeFile(join(folder, FIRST.replace('2026', year)), '');
    const stop = own();
    await expect.poll(files).toEqual([FIRST, FIRST.replace('2026', '2032')]);
    expect([...taken]).toEqual([AT]);
    await stop();
  });

  it('come from another member if one has no complete state', async () => {
    const asked: number[] = [];
    const { failures, own, files } = await start((member) => {
      asked.push(member);
      return partsOf(member === 0 ? STATE : COMPLETE);
    });
    const stop = own();
    await expect.poll(files).toEqual([FIRST]);
    expect([asked, failures]).toEqual([[0, 1], []]);
    await stop();
  });

  it('that fail are reported and repeated', async () => {
    let bytes = STATE;
    const { clock, taken, failures, own, files } = await start(() => partsOf(bytes));
    const stop = own();
    await expect.poll(() => failures.length).toBe(1);
    bytes = COMPLETE;
    await advanceUntil(clock, 60_000, () => taken.size === 1);
    expect(await files()).toHaveLength(1);
    expect(failures).toEqual([expect.stringContaining('the state of the member is incomplete')]);
    await stop();
  });
});

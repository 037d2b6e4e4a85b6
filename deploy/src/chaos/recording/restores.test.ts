import { expect, test } from 'vitest';
import type { ChaosEngine } from '../engine.ts';
import { Restores } from './restores.ts';
import type { RestoreRecord } from './run-folder.ts';

const LATER = 1_000_000_000;
const CUT = { snapshotRevision: 10, lastRevision: 14, stoppedMs: 7 };

function start(ctl: (args: readonly string[]) => Promise<string>) {
  const records: RestoreRecord[] = [];
  const engine = { options: { etcd: { ctl } } } as unknown as ChaosEngine;
  return { records, restores: new Restores(engine, { restore: (record) => records.push(record) }) };
}

test('a version is lost if it was written between a snapshot and its restore', () => {
  const { restores } = start(() => Promise.resolve('{}'));
  expect(restores.isLost(11 * 256)).toBe(false);
  restores.cut(CUT);
  expect([10, 11, 10 + LATER, 11 + LATER].map((revision) => restores.isLost(revision * 256 + 3))).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test('the restored state is read at its revision', async () => {
  const asked: string[] = [];
  const key = { key: 'L2E=', value: 'AAE=', create_revision: 2, mod_revision: 3, version: 4 };
  const { records, restores } = start((args) => {
    asked.push(args.join(' '));
    return Promise.resolve(JSON.stringify({ kvs: [key] }));
  });
  restores.cut(CUT);
  await restores.written();
  expect(asked).toEqual([`get  --prefix --rev=${10 + LATER} -w json`]);
  expect(records).toEqual([
    {
      ...CUT,
      revision: 10 + LATER,
      keys: [{ key: '/a', value: 'AAE=', createRevision: 2, modRevision: 3, version: 4 }],
    },
  ]);
});

test('a state that cannot be read is reported at the end', async () => {
  const { restores } = start(() => Promise.reject(new Error('compacted')));
  restores.cut(CUT);
  await expect(restores.written()).rejects.toThrow('compacted');
});

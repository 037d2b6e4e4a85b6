import type { Job } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { planBackups } from './backup.ts';
import type { EtcdCluster } from './etcd-cluster.ts';

const MINUTE_MS = 60_000;
const cluster = (keep = 2): EtcdCluster => ({
  apiVersion: 'etcd.example.com/v1',
  kind: 'EtcdCluster',
  metadata: { name: 'db', namespace: 'a', uid: 'u' },
  spec: { size: 3, image: 'etcd:1', replaceAfter: 300, backup: { everyMinutes: 10, keep, claimName: 'backups' } },
});
function job(number: number, condition?: 'Complete' | 'Failed'): Job {
  const annotations = { 'etcd.example.com/backup': String(number), 'etcd.example.com/file': `db-${number % 2}.db` };
  const conditions = condition === undefined ? [] : [{ type: condition, status: 'True' }];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: `db-backup-${number}`, annotations },
    status: { conditions, ...(condition === 'Complete' ? { completionTime: `time ${number}` } : {}) },
  };
}
const plan = (jobs: readonly Job[], minute = 105, isAvailable = true) =>
  planBackups(cluster(), jobs, isAvailable, minute * MINUTE_MS);

describe('backups', () => {
  it('are made by a Job for each interval', () => {
    const made = plan([]);
    expect(made?.nextAt).toBe(110 * MINUTE_MS);
    expect(made?.create).toMatchObject({
      metadata: { name: 'db-backup-10', namespace: 'a', ownerReferences: [{ uid: 'u', controller: true }] },
      spec: {
        template: { spec: { containers: [{ command: expect.arrayContaining(['/backups/db-0.db']) as unknown }] } },
      },
    });
    expect(plan([job(10)])?.create).toBeUndefined();
    expect(plan([job(10, 'Complete')])?.create).toBeUndefined();
    expect(plan([job(9, 'Complete')])?.create?.metadata.name).toBe('db-backup-10');
  });

  it('do not overlap, and are not made of a cluster that does not answer', () => {
    expect(plan([job(9)])?.create).toBeUndefined();
    expect(plan([], 105, false)?.create).toBeUndefined();
  });

  it('are as many as are to be kept', () => {
    const jobs = [job(7, 'Complete'), job(9, 'Complete'), job(8, 'Complete'), job(10, 'Failed')];
    const made = plan(jobs);
    expect(made?.remove.map(({ metadata }) => metadata.name)).toEqual(['db-backup-7']);
    expect(made?.backups).toEqual([
      { file: 'db-1.db', time: 'time 9' },
      { file: 'db-0.db', time: 'time 8' },
    ]);
  });

  it.each([
    [[], 'Unknown', 'The first backup has not ended yet'],
    [[job(10)], 'Unknown', 'The first backup has not ended yet'],
    [[job(9, 'Complete'), job(10)], 'True', 'The last backup is db-1.db of time 9'],
    [
      [job(9, 'Complete'), job(10, 'Failed')],
      'False',
      'Job db-backup-10 has failed; the last one is db-1.db of time 9',
    ],
    [[job(10, 'Failed')], 'False', 'Job db-backup-10 has failed; there is none before'],
  ] as const)('are reported', (jobs, status, message) =>
    expect(plan(jobs)?.condition).toMatchObject({ status, message }),
  );

  it('are not made unless they are wanted', () => {
    const { backup: _, ...spec } = cluster().spec;
    expect(planBackups({ ...cluster(), spec }, [], true, 0)).toBeUndefined();
  });
});

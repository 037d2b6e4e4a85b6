import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { expect, onTestFinished, test } from 'vitest';
import { CommandError } from '../../machine/command-error.ts';
import type { ChaosEngine } from '../engine.ts';
import { startLines } from './line-process.ts';
import { recordEngine } from './record-engine.ts';
import { readKeys } from './record-etcd.ts';
import { readSamples, recordMetrics } from './record-metrics.ts';
import { RunFolder } from './run-folder.ts';

test('selected samples are read with their labels', () => {
  const text = [
    '# HELP leader_election_master_status Whether',
    'leader_election_master_status{name="kube-scheduler"} 1',
    'gantry_event_loop_stalls_total 3',
    'something_else 4',
    'gantry_event_loop_longest_stall_seconds{time="wall"} NaN',
  ].join('\n');
  expect(readSamples(text)).toEqual([
    { name: 'leader_election_master_status', labels: { name: 'kube-scheduler' }, value: 1 },
    { name: 'gantry_event_loop_stalls_total', labels: {}, value: 3 },
  ]);
});

test('keys keep their values as base64', () => {
  const printed = { kvs: [{ key: 'L2E=', value: 'AAE=', create_revision: 2, mod_revision: 3, version: 4 }] };
  expect(readKeys(JSON.stringify(printed))).toEqual([
    { key: '/a', value: 'AAE=', createRevision: 2, modRevision: 3, version: 4 },
  ]);
  expect(readKeys('{"header":{}}')).toEqual([]);
});

test('lines of a program are read whole, and one that is cut off is left out', async () => {
  const lines: string[] = [];
  const long = 'x'.repeat(200_000);
  const program = `process.stdout.write('first\\n' + 'x'.repeat(200000) + '\\n{"cut":')`;
  await startLines(process.execPath, ['-e', program], new AbortController().signal, (line) => lines.push(line)).ended;
  expect(lines).toEqual(['first', long]);
});

test('a program that heeds no signal is ended all the same', async () => {
  const stop = new AbortController();
  const program = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stdout.write('ready\n')`;
  const { ended } = startLines(process.execPath, ['-e', program], stop.signal, () => stop.abort());
  await ended;
});

test('the folder of a run is for its owner alone', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'gantry-chaos-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  await using folder = new RunFolder(join(parent, 'run'), new ManualClock());
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
});

test('a recording that fails is reported when it is awaited', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const engine = { services: () => Promise.reject(new TypeError('no engine')) } as unknown as ChaosEngine;
  const { ended } = recordMetrics(engine, {} as RunFolder, new AbortController().signal);
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
  await expect(ended).rejects.toThrow('no engine');
});

test('metrics are recorded again when the engine has been restarted', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  let looks = 0;
  const services = async () => {
    if (++looks === 1) throw new CommandError('Cannot connect to the Docker daemon');
    return await Promise.resolve([]);
  };
  const { ended } = recordMetrics(
    { options: { clock }, services } as unknown as ChaosEngine,
    {} as RunFolder,
    stop.signal,
  );
  await clock.advance(10_000);
  stop.abort();
  await ended;
  expect(looks).toBe(2);
});

test('a file that cannot be written is reported at the end, and ends nothing before', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'gantry-chaos-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const folder = new RunFolder(join(parent, 'run'), new ManualClock());
  mkdirSync(join(folder.path, 'faults.jsonl'));
  folder.fault({ id: 'f1', kind: 'kill', target: 'scheduler/1', phase: 'start' });
  await expect(folder[Symbol.asyncDispose]()).rejects.toThrow('EISDIR');
});

test('services that run an image of the campaign are recorded, and containers beside the cluster are not', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'gantry-chaos-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const clock = new ManualClock();
  const container = (name: string, label: string) => ({ name, labels: { 'gantry.chaos': label }, addresses: {} });
  const engine = {
    options: { clusterId: 'a', clock },
    services: async () => await Promise.resolve([container('a-scheduler-1', '')]),
    pods: async () => await Promise.resolve([container('gantry-chaos-a-f1', 'a')]),
  } as unknown as ChaosEngine;
  await using folder = new RunFolder(join(parent, 'run'), clock);
  const names: string[] = [];
  folder.engine = (record) => (names.push(...('snapshot' in record ? record.snapshot.map(({ name }) => name) : [])), 0);
  await (await recordEngine(engine, folder, AbortSignal.abort())).ended;
  expect(names).toEqual(['a-scheduler-1', 'a-scheduler-1']);
});

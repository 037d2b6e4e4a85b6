import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { createMetrics, silentLogger } from '@gantry/service';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { auditCounters } from '../meters.ts';
import { createLogFile, type LogFileOptions } from './log-file.ts';

let folder: string;
const metrics = createMetrics();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-audit-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Writes lines with a new log and waits until the log has stopped. */
async function write(lines: readonly string[], options: Partial<LogFileOptions> = {}): Promise<void> {
  const log = createLogFile({
    folder,
    server: 'a',
    maxBytes: 1000,
    maxBackups: 2,
    clock: new ManualClock(),
    logger: silentLogger,
    ...auditCounters(metrics),
    ...options,
  });
  const stop = new AbortController();
  const running = log.member.run(stop.signal);
  for (const line of lines) log.append(line);
  stop.abort();
  await running;
}

it('appends lines in order, for the owner alone, also after a start', async () => {
  await write(['one', 'two']);
  await write(['three']);
  expect(await readFile(join(folder, 'audit-a.log'), 'utf8')).toBe('one\ntwo\nthree\n');
  expect((await stat(join(folder, 'audit-a.log'))).mode & 0o777).toBe(0o600);
});

it('begins a new file when one is full, and keeps the newest of the full ones, those of other servers included', async () => {
  for (const name of ['audit-gone-2020-01-01T00-00-00Z.log', 'audit-gone-2020-01-02T00-00-00Z.log']) {
    await writeFile(join(folder, name), 'old\n');
    await utimes(join(folder, name), 1, 1);
  }
  await writeFile(join(folder, 'audit-b.log'), 'of another server that runs\n');
  await writeFile(join(folder, 'notes.log'), 'of the administrator\n');
  const line = (letter: string) => letter.repeat(600);
  for (const letter of ['x', 'y', 'z']) await write([line(letter)]);
  const names = (await readdir(folder)).toSorted();
  expect(names).toHaveLength(5);
  expect(names).toContain('audit-b.log');
  expect(names).toContain('notes.log');
  expect(names.filter((name) => name.startsWith('audit-gone'))).toEqual([]);
  expect(await readFile(join(folder, 'audit-a.log'), 'utf8')).toBe(`${line('z')}\n`);
});

it('counts the events that could not be written', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  await chmod(file, 0o600);
  const lost = async () =>
    (await metrics.render()).text.match(/apiserver_audit_error_total\{plugin="log"\} (\d+)/)?.[1];
  const before = Number((await lost()) ?? 0);
  // The path of the folder is a file.
  await write(['one', 'two'], { folder: file });
  expect(Number(await lost())).toBe(before + 2);
});

it('drops lines above the limit of its queue, and counts them', async () => {
  const own = createMetrics();
  const log = createLogFile({
    folder,
    server: 'a',
    maxBytes: 1000,
    maxBackups: 2,
    clock: new ManualClock(),
    logger: silentLogger,
    ...auditCounters(own),
  });
  const large = 'x'.repeat(1024 * 1024);
  for (let i = 0; i < 20; i++) log.append(large);
  const { text } = await own.render();
  expect(text).toMatch(/apiserver_audit_error_total\{plugin="log"\} 3\n/);
  expect(text).toMatch(/apiserver_audit_event_total 17\n/);
});

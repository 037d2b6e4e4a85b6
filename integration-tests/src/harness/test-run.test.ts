import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { isInterrupted, markTestRun, unmarkTestRun } from './test-run.ts';

let path: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'test-run-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  path = join(folder, 'home', 'test-run');
});

it('a run whose process lives, or that ended by itself, was not interrupted', () => {
  expect(isInterrupted(path)).toBe(false);
  markTestRun(path);
  expect(isInterrupted(path)).toBe(false);
  unmarkTestRun(path);
  expect(isInterrupted(path)).toBe(false);
});

it('a run whose process has ended was interrupted', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  markTestRun(path);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(child.pid)));
  expect(isInterrupted(path)).toBe(true);
});

it('another process with the number of an ended one is not the run', () => {
  markTestRun(path);
  writeFileSync(path, `${process.pid} another time\n`);
  expect(isInterrupted(path)).toBe(true);
});

it("another user's file, and a path that is none, say nothing", () => {
  markTestRun(path);
  writeFileSync(path, `${process.pid} another time\n`);
  expect(isInterrupted(join(path, 'test-run'))).toBe(false);
  expect(isInterrupted(path)).toBe(true);
  expect(isInterrupted(path, (process.getuid?.() ?? 0) + 1)).toBe(false);
});

it('a file that is not whole says nothing', () => {
  markTestRun(path);
  writeFileSync(path, '4');
  expect(isInterrupted(path)).toBe(false);
});

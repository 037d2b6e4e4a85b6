import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takeProcessLock } from './process-lock.ts';

test('one holds the lock at a time, in a folder that is made', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'new/up.db');
  const first = takeProcessLock(file);
  expect(first).toBeDefined();
  expect(takeProcessLock(file)).toBeUndefined();
  first?.[Symbol.dispose]();
  using second = takeProcessLock(file);
  expect(second).toBeDefined();
});

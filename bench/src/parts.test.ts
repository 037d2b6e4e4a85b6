import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { judgeRestarts, startMeter } from './parts.ts';
import { cpuMs } from './processes.ts';

let before: typeof process.exitCode;
beforeEach(() => {
  before = process.exitCode;
});
afterEach(() => {
  process.exitCode = before;
});

/** A process that works all the time, and has used CPU already. */
async function worker() {
  const child = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { pid = 0 } = child;
  await expect.poll(() => cpuMs(pid), { timeout: 20_000 }).toBeGreaterThan(50);
  const end = async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { pid, end };
}

it('a health check that has ended neither counts nor is a restart', async () => {
  const [service, check] = [await worker(), await worker()];
  const used = startMeter([{ name: 'agent', pids: [service.pid, check.pid], mainPids: [service.pid] }]);
  await check.end();
  await expect.poll(() => used()[0]?.cpuMs, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(used()).toMatchObject([{ name: 'agent', hasRestarted: false }]);
  expect(judgeRestarts(used())).toEqual(['- kept: services that started again 0, asked is at most 0']);
});

it('a service whose process has ended is named, and has used no less than nothing', async () => {
  const [one, other] = [await worker(), await worker()];
  const used = startMeter([
    { name: 'apiserver', pids: [one.pid, other.pid], mainPids: [one.pid, other.pid] },
    { name: 'dns', pids: [other.pid], mainPids: [other.pid] },
  ]);
  await one.end();
  const uses = used();
  expect(uses).toMatchObject([{ hasRestarted: true }, { hasRestarted: false }]);
  expect(uses[0]?.cpuMs).toBeGreaterThanOrEqual(0);
  expect(judgeRestarts(uses)).toEqual([
    '- started again, so that more was used than is said: apiserver',
    '- MISSED: services that started again 1, asked is at most 0',
  ]);
});

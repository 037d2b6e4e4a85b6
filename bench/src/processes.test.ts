import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { endProcess, wakeUps } from './processes.ts';

it('a thread that waits and goes on is counted as woken', async () => {
  // Not this process: threads of other tests end in it, and take what they have counted with them.
  const child = spawn('sh', ['-c', 'while sleep 0.01; do :; done'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  const { pid = 0 } = child;
  const before = wakeUps(pid);
  await expect.poll(() => wakeUps(pid)).toBeGreaterThan(before);
});

it('a process that has ended is not woken', () => {
  expect(wakeUps(2 ** 22 + 1)).toBe(0);
});

it('the end of a process that a signal has ended is not waited for', async () => {
  const child = spawn('sleep', ['60']);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await endProcess(child);
  expect(child.signalCode).toBe('SIGKILL');
});

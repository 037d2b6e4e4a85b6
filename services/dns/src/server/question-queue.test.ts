import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { QuestionQueue } from './question-queue.ts';

/** Adds questions of an address; `log` gets an entry for each when it is answered. */
function ask(queue: QuestionQueue, log: string[], { address, count = 1, bytes = 100 }: Asked): void {
  for (let i = 0; i < count; i++) {
    queue.add(address, () => {
      log.push(address);
      return bytes;
    });
  }
}

interface Asked {
  readonly address: string;
  readonly count?: number;
  readonly bytes?: number;
}

it('an address waits for one question of each other address, however many these ask', async () => {
  const queue = new QuestionQueue();
  const log: string[] = [];
  ask(queue, log, { address: 'flood', count: 1000 });
  ask(queue, log, { address: 'flood-too', count: 1000 });
  ask(queue, log, { address: 'quiet', count: 2 });
  await turn();
  expect(log.slice(0, 6)).toEqual(['flood', 'flood-too', 'quiet', 'flood', 'flood-too', 'quiet']);
  ask(queue, log, { address: 'late' });
  const before = log.length;
  await turn();
  expect(log.slice(before, before + 3)).toContain('late');
});

it('a turn ends after so many questions or bytes, and the next one goes on', async () => {
  const queue = new QuestionQueue();
  const log: string[] = [];
  ask(queue, log, { address: 'a', count: 20 });
  await turn();
  expect(log).toHaveLength(16);
  await turn();
  expect(log).toHaveLength(20);
  ask(queue, log, { address: 'a', count: 3, bytes: 65_000 });
  await turn();
  expect(log).toHaveLength(22);
  await turn();
  expect(log).toHaveLength(23);
});

it('has room for a number of questions of an address and of all', async () => {
  const queue = new QuestionQueue();
  const log: string[] = [];
  ask(queue, log, { address: 'a', count: 255 });
  expect(queue.hasRoom('a')).toBe(true);
  ask(queue, log, { address: 'a' });
  expect(queue.hasRoom('a')).toBe(false);
  expect(queue.hasRoom('b')).toBe(true);
  for (let i = 1; i < 32; i++) ask(queue, log, { address: `${i}`, count: 256 });
  expect(queue.hasRoom('b')).toBe(false);
  await turn();
  expect(queue.hasRoom('b')).toBe(true);
});

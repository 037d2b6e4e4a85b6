import { expect, it } from 'vitest';
import { Arrivals } from './watches.ts';

it('resolves when every watcher has seen so many events', async () => {
  const arrivals = new Arrivals(2);
  const reached = arrivals.reached(1);
  arrivals.add(1);
  await expect(Promise.race([reached, Promise.resolve('waits')])).resolves.toBe('waits');
  arrivals.add(1);
  await reached;
});

it('a watch that has failed while nothing waited for its events fails the next wait', async () => {
  const arrivals = new Arrivals(1);
  arrivals.fail(new Error('the watch has ended'));
  // An unhandled rejection would be reported in the meantime.
  await new Promise((resolve) => setImmediate(resolve));
  await expect(arrivals.reached(1)).rejects.toThrow('the watch has ended');
});

import { beforeEach, expect, it } from 'vitest';
import { Turns } from '../turns.ts';
import { startHarness, type Harness } from './testing.ts';

/** Each look at the clock finds that long has passed. */
let now = 0;
const turns = new Turns({ monotonicMs: () => (now += 1000) });

let h: Harness;
beforeEach(async () => {
  h = await startHarness({ turns });
});

const object = (count: number) => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'a' },
  secrets: Array.from({ length: count }, (_, i) => ({ name: `s${i}` })),
});

it('other work runs between the steps of a write that take long', async () => {
  let rounds = 0;
  let isRunning = true;
  const count = () => {
    rounds++;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  await h.create('serviceaccounts', object(1));
  isRunning = false;
  expect(rounds).toBeGreaterThanOrEqual(5);
});

it('a write may not add more items to lists with keys than can be compared and validated in a turn', async () => {
  const message = 'Request entity too large: limit is 5000 items in lists whose items have keys';
  await expect(h.create('serviceaccounts', object(5001))).rejects.toMatchObject({ code: 413, message });
  expect(await h.create('serviceaccounts', object(5000))).toMatchObject({ metadata: { name: 'a' } });
});

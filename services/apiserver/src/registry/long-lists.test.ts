import { beforeEach, expect, it } from 'vitest';
import { Turns } from '../turns.ts';
import { type Harness, jsonBody, patchBody, startHarness, WRITE } from './testing.ts';

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
  const target = h.target('serviceaccounts', 'a');
  const update = (count: number) => h.settle(h.registry.update(h.context(), target, jsonBody(object(count)), WRITE));
  await expect(update(5001)).rejects.toMatchObject({ code: 413, message });
  const applied = patchBody('application/apply-patch+yaml', Buffer.from(JSON.stringify(object(5001))));
  const apply = h.registry.patch(h.context(), h.target('serviceaccounts', 'a'), applied, WRITE);
  await expect(h.settle(apply)).rejects.toMatchObject({ code: 413, message });
  expect((await update(4999)).response.object).toMatchObject({ metadata: { name: 'a' } });
});

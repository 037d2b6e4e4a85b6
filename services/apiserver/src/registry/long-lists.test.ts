import { beforeEach, expect, it } from 'vitest';
import { Turns } from '../turns.ts';
import { type Harness, jsonBody, patchBody, startHarness, WRITE } from './testing.ts';

/** How much time passes between two looks at the clock. */
let stepMs = 0;
let now = 0;
const turns = new Turns({ monotonicMs: () => (now += stepMs) });

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

/** Counts the rounds of the event loop during a dry run, which waits for nothing. */
async function roundsOf(): Promise<number> {
  let rounds = 0;
  let isRunning = true;
  const count = () => {
    rounds++;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  const options = { ...WRITE, dryRun: true };
  await h.registry.create(h.context(), h.target('serviceaccounts', ''), jsonBody(object(1)), options);
  isRunning = false;
  return rounds;
}

it('other work runs between the steps of a write that take long', async () => {
  const quick = await roundsOf();
  stepMs = 1000;
  expect(await roundsOf()).toBeGreaterThanOrEqual(quick + 5);
  stepMs = 0;
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

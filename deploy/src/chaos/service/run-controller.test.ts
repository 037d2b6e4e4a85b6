import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CUSTOM_RESOURCE_DEFINITIONS, StatusError } from '@gantry/objects';
import { expect, test } from 'vitest';
import { CommandError } from '../../machine/command-error.ts';
import { FAULT_KINDS } from '../faults/index.ts';
import { exampleResult } from '../testing/example-run.ts';
import { WORKLOADS } from '../workloads/index.ts';
import { CHAOS_RUNS } from './kinds.ts';
import { type Checked, FINALIZER, RunController } from './run-controller.ts';

const { signal } = new AbortController();
const SPEC = { duration: '1m', intensity: 2, settle: '10m', calm: '5s', undisturbed: 'none' };
const CHECKED: Checked = {
  result: exampleResult,
  verdict: { outcome: 'ok', problems: [], found: [], invariants: [], loads: [] },
};

async function createSubject() {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  await client.put(CUSTOM_RESOURCE_DEFINITIONS, CHAOS_RUNS.definition);
  const campaigns: { readonly seed: number; readonly stop: AbortSignal; end(checked: Checked): void }[] = [];
  const locks = { holder: '', taken: 0 };
  const runs = new RunController({
    client,
    clock,
    random: () => 0.5,
    choices: { kinds: FAULT_KINDS, impossible: new Map(), workloads: WORKLOADS },
    lock: () => {
      if (locks.holder !== '') throw new CommandError(locks.holder);
      locks.taken++;
      return { [Symbol.dispose]: () => void locks.taken-- };
    },
    campaign: ({ seed }, _view, stop) =>
      new Promise((resolve, reject) => {
        campaigns.push({ seed, stop, end: resolve });
        stop.addEventListener('abort', () => reject(new CommandError('ended by its user')));
      }),
    say: () => {},
  });
  const key = (name: string) => ({ namespace: '', name });
  const read = (name: string) => client.get(CHAOS_RUNS, key(name), signal);
  const step = async (name: string) => await runs.reconcile(await read(name));
  const create = async (name: string, spec: object = {}) => {
    const metadata = { name, finalizers: ['example.com/other'] };
    await client.put(CHAOS_RUNS, {
      apiVersion: 'chaos.gantry.dev/v1alpha1',
      kind: 'ChaosRun',
      metadata,
      spec: { ...SPEC, ...spec },
    });
  };
  const remove = (name: string) => client.delete(CHAOS_RUNS, key(name), {}, signal);
  /** Adds the finalizer, and starts the run. */
  const start = async (name: string) => {
    await step(name);
    await step(name);
  };
  return { clock, client, campaigns, locks, runs, read, step, create, remove, start };
}

test('a run is held until it has its verdict', async () => {
  const { campaigns, client, create, locks, read, runs, start, step } = await createSubject();
  await create('a', { seed: 7 });
  await step('a');
  expect([(await read('a')).metadata.finalizers, campaigns.length]).toEqual([['example.com/other', FINALIZER], 0]);
  await start('a');
  expect([campaigns[0]?.seed, locks.taken]).toEqual([7, 1]);
  await expect.poll(async () => (await read('a')).status?.phase).toBe('Preparing');
  await step('a');
  expect(campaigns).toHaveLength(1);
  // Another controller's finalizer comes while it runs, and stays.
  const finalizers = [FINALIZER, 'example.com/other', 'example.com/later'];
  await client.patch(CHAOS_RUNS, { namespace: '', name: 'a' }, { merge: { metadata: { finalizers } } }, signal);
  campaigns[0]?.end(CHECKED);
  await runs.end();
  const { metadata, status } = await read('a');
  expect([status?.phase, metadata.finalizers, locks.taken]).toEqual([
    'Passed',
    ['example.com/other', 'example.com/later'],
    0,
  ]);
  await step('a');
  expect(campaigns).toHaveLength(1);
});

test('one run at a time: others wait, also for a campaign of another process', async () => {
  const { campaigns, create, locks, read, runs, start, step } = await createSubject();
  await create('a');
  await create('b');
  locks.holder = 'npm run chaos runs on this cluster (process 7)';
  await start('a');
  expect([campaigns.length, (await read('a')).status]).toMatchObject([0, { phase: 'Pending', message: locks.holder }]);
  locks.holder = '';
  await step('a');
  expect(await step('b')).toEqual({ requeueAfterMs: 2_000 });
  const { metadata, status } = await read('b');
  // It can be deleted while it waits.
  expect([status, metadata.finalizers]).toMatchObject([
    { phase: 'Pending', message: 'waits for a' },
    ['example.com/other'],
  ]);
  campaigns[0]?.end(CHECKED);
  await runs.end();
  await start('b');
  expect(campaigns).toHaveLength(2);
  await runs.end();
});

test('a run that is deleted is ended and healed before its object goes', async () => {
  const { campaigns, create, read, remove, start, step } = await createSubject();
  await create('a');
  await start('a');
  await remove('a');
  expect((await read('a')).metadata.finalizers).toContain(FINALIZER);
  await step('a');
  expect(campaigns[0]?.stop.aborted).toBe(true);
  const { metadata, status } = await read('a');
  expect([status?.phase, metadata.finalizers]).toEqual(['Failed', ['example.com/other']]);
});

test.each(['gone', 'replaced'] as const)(
  'a run whose object is %s without its finalizer ends, and others can start',
  async (how) => {
    const { campaigns, client, create, locks, read, remove, runs, start, step } = await createSubject();
    await create('a');
    await start('a');
    await client.patch(CHAOS_RUNS, { namespace: '', name: 'a' }, { merge: { metadata: { finalizers: null } } }, signal);
    await remove('a');
    if (how === 'gone') await runs.endReplaced('a', undefined);
    else {
      await create('a');
      await step('a');
      // What the first one's campaign came to says nothing about the second object.
      expect([(await read('a')).status?.phase, (await read('a')).metadata.finalizers]).toEqual([
        undefined,
        ['example.com/other', FINALIZER],
      ]);
    }
    expect([campaigns[0]?.stop.aborted, locks.taken]).toEqual([true, 0]);
    await create('b');
    await start('b');
    expect(campaigns).toHaveLength(2);
    await runs.end();
  },
);

test('a run that is deleted before it starts goes at once', async () => {
  const { campaigns, create, locks, read, remove, start, step } = await createSubject();
  locks.holder = 'npm run chaos runs on this cluster';
  await create('a');
  await start('a');
  await remove('a');
  await step('a');
  expect([(await read('a')).metadata.finalizers, campaigns.length]).toEqual([['example.com/other'], 0]);
});

test('a run of a service that was killed has failed, and can be deleted', async () => {
  const { client, create, read, start, step } = await createSubject();
  await create('a');
  await client.patch(
    CHAOS_RUNS,
    { namespace: '', name: 'a' },
    { merge: { metadata: { finalizers: [FINALIZER] } } },
    signal,
  );
  await client.patch(
    CHAOS_RUNS,
    { namespace: '', name: 'a' },
    { merge: { status: { phase: 'Running' } }, subresource: 'status' },
    signal,
  );
  await start('a');
  const { metadata, status } = await read('a');
  expect([status?.phase, metadata.finalizers ?? []]).toEqual(['Failed', []]);
  await step('a');
  expect((await read('a')).status?.phase).toBe('Failed');
});

test('a spec that is wrong fails at once, and the message names the field', async () => {
  const { campaigns, create, read, start, step } = await createSubject();
  await create('a', { faults: ['nothing'] });
  await start('a');
  const { status } = await read('a');
  expect(status).toMatchObject({ phase: 'Failed' });
  expect(status?.message).toContain('spec.faults: there is no nothing');
  await step('a');
  expect([(await read('a')).metadata.finalizers, campaigns.length]).toEqual([['example.com/other'], 0]);
});

test('the verdict is written again until the API takes it', async () => {
  const { campaigns, client, clock, create, read, runs, start } = await createSubject();
  await create('a');
  await start('a');
  await expect.poll(async () => (await read('a')).status?.phase).toBe('Preparing');
  client.failNext(({ verb }) => verb === 'patch', new StatusError('ServiceUnavailable', 'etcd is away'), 2);
  campaigns[0]?.end(CHECKED);
  const ended = runs.end();
  await expect
    .poll(async () => {
      await clock.advance(1_000);
      return (await read('a')).status?.phase;
    })
    .toBe('Passed');
  await ended;
});

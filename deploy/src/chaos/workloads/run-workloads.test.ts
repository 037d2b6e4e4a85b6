import { CONFIG_MAPS, type ConfigMap, StatusError } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import type { HttpClient } from '@gantry/client';
import { expect, test } from 'vitest';
import { createObject, startWorkloads, type WorkloadParts } from './run-workloads.ts';
import { Tally } from './tally.ts';
import { untilRight } from './until-right.ts';
import type { Workload, WorkloadContext } from './workload.ts';

const OBJECT: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'chaos', name: 'one' } };
const NEVER = new AbortController().signal;

/** An API that answers each attempt to create in turn. */
function apiWith(answers: readonly (ConfigMap | Error)[]) {
  let attempts = 0;
  const answer = async () => {
    const next = answers[attempts++];
    if (next instanceof Error) throw next;
    return await Promise.resolve(next);
  };
  const api = { create: answer, get: async () => await Promise.resolve(OBJECT) } as unknown as HttpClient;
  return { api, attempts: () => attempts };
}

async function create(api: HttpClient, clock: ManualClock): Promise<ConfigMap> {
  const waiting: WorkloadContext['untilRight'] = (look, limitMs = 5_000) => untilRight(clock, look, { limitMs });
  const creating = createObject(api, waiting, CONFIG_MAPS, OBJECT);
  let ended = false;
  creating.then(
    () => (ended = true),
    () => (ended = true),
  );
  while (!ended) await clock.advance(1_000);
  return await creating;
}

test('what has no answer is tried again, and may turn out to be there', async () => {
  const { api, attempts } = apiWith([
    new Error('no connection'),
    new StatusError('ServiceUnavailable', 'ServiceUnavailable'),
    new StatusError('AlreadyExists', 'AlreadyExists'),
  ]);
  expect(await create(api, new ManualClock())).toBe(OBJECT);
  expect(attempts()).toBe(3);
});

test('what is refused is not tried again', async () => {
  const { api, attempts } = apiWith([new StatusError('Invalid', 'Invalid'), OBJECT]);
  await expect(create(api, new ManualClock())).rejects.toThrow(
    'ConfigMap one cannot be created before the load: Invalid',
  );
  expect(attempts()).toBe(1);
});

test('where there is never an answer, the last error is said', async () => {
  const { api } = apiWith(Array.from({ length: 20 }, () => new Error('no connection')));
  await expect(create(api, new ManualClock())).rejects.toThrow('before the load: no connection');
});

test('when a workload cannot start, those that run end with the run, and no connection stays open', async () => {
  let open = 0;
  const over = new AbortController();
  const ended: string[] = [];
  const running: Workload = {
    name: 'running',
    what: '',
    start: async (context) => {
      context.connect();
      context.over.addEventListener('abort', () => ended.push('running'));
      return await Promise.resolve({ finish: async () => await Promise.resolve([]) });
    },
  };
  const failing: Workload = {
    name: 'failing',
    what: '',
    start: async ({ connect }) => {
      connect();
      return await Promise.reject(new Error('cannot start'));
    },
  };
  const connect = () => {
    open++;
    return { [Symbol.dispose]: () => open-- } as unknown as HttpClient;
  };
  const parts = {
    cluster: { connect, podImage: async () => await Promise.resolve('image') },
    clock: new ManualClock(),
    namespace: 'chaos',
    folder: {},
    tally: new Tally(),
    patience: { limitMs: 1_000, interrupted: NEVER, say: () => undefined },
    over: over.signal,
  } as unknown as WorkloadParts;
  const starting = startWorkloads(parts, { workloads: [running, failing], seed: 1, rate: 1 }, NEVER);
  await expect(starting).rejects.toThrow('cannot start');
  expect(open).toBeGreaterThan(0);
  over.abort();
  expect({ open, ended }).toEqual({ open: 0, ended: ['running'] });
});

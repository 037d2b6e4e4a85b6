import { ManualClock } from '@gantry/base/testing';
import Docker from 'dockerode';
import { beforeEach, expect, it } from 'vitest';
import { EngineCalls } from './engine-calls.ts';
import { Inspections } from './inspections.ts';

const { signal } = new AbortController();
const ID = 'f'.repeat(64);

let asked: number;
let answer: (path: string) => Promise<object>;
let inspections: Inspections;
beforeEach(() => {
  asked = 0;
  const docker = new Docker({ socketPath: '/nonexistent' });
  docker.modem.dial = ({ path }, callback) => {
    asked += 1;
    answer(path).then(
      (result) => callback?.(null, result),
      (error: unknown) => callback?.(error as Error, null),
    );
  };
  inspections = new Inspections(new EngineCalls(docker, new ManualClock()));
});

const inState = (Status: string, StartedAt = '1') => Promise.resolve({ Id: ID, State: { Status, StartedAt } });
const inspect = (State: string) => inspections.inspect({ Id: ID, State }, signal);

it.each(['running', 'paused', 'exited'])('a container that is %s is asked for once', async (state) => {
  answer = () => inState(state);
  await inspect(state);
  expect((await inspect(state))?.State.Status).toBe(state);
  expect(asked).toBe(1);
});

it('a container that was only created is asked for each time: its start may fail without a change of its state', async () => {
  answer = () => inState('created');
  await inspect('created');
  await inspect('created');
  expect(asked).toBe(2);
});

it('a container is asked for again in another state, after an event, and after a gap in the events', async () => {
  answer = () => inState('running');
  await inspect('running');
  answer = () => inState('exited');
  expect((await inspect('exited'))?.State.Status).toBe('exited');
  inspections.forget(ID);
  answer = () => inState('exited', '2');
  expect((await inspect('exited'))?.State.StartedAt).toBe('2');
  inspections.forgetAll();
  answer = () => inState('exited', '3');
  expect((await inspect('exited'))?.State.StartedAt).toBe('3');
});

it('an answer from before an event is not kept', async () => {
  const late = Promise.withResolvers<object>();
  answer = () => late.promise;
  const first = inspect('running');
  inspections.forget(ID);
  late.resolve(await inState('running', 'before'));
  await first;
  answer = () => inState('running', 'after');
  expect((await inspect('running'))?.State.StartedAt).toBe('after');
});

it('a container that is gone is undefined', async () => {
  answer = () => Promise.reject(Object.assign(new Error('gone'), { statusCode: 404 }));
  expect(await inspect('running')).toBeUndefined();
});

it('what was known of a container is forgotten after a change, also where that fails', async () => {
  answer = () => inState('running');
  const known = () => inspections.inspect({ Id: ID }, signal);
  await known();
  answer = () => inState('exited');
  expect(await inspections.changing(ID, async () => (await known())?.State.Status)).toBe('running');
  expect((await known())?.State.Status).toBe('exited');
  answer = () => inState('running', '2');
  await expect(inspections.changing(ID, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect((await known())?.State.StartedAt).toBe('2');
});

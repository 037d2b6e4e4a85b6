import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { CommandError } from '../machine/command-error.ts';
import type { ServiceContainer } from './compose.ts';
import { watchRestarts } from './restarting-containers.ts';
import { untilSucceeds, waitUntil } from './wait-until.ts';

const SECOND = 1_000;
const silent = () => undefined;

/** What the wait came to, once it ended: its value or its message. */
function outcomeOf(waiting: Promise<unknown>): { text: string | undefined } {
  const outcome: { text: string | undefined } = { text: undefined };
  waiting.then(
    (value) => (outcome.text = String(value)),
    (error: unknown) => (outcome.text = (error as Error).message),
  );
  return outcome;
}

const container = (name: string, state: string): ServiceContainer => ({
  name,
  service: name,
  state,
  health: '',
  image: 'gantry',
});

function start(states: () => readonly ServiceContainer[], done: () => boolean = () => false) {
  const clock = new ManualClock();
  const whyInVain = watchRestarts({ containers: () => Promise.resolve(states()) });
  const wait = { clock, what: 'the API', timeoutMs: 600 * SECOND, everyMs: SECOND, whyInVain };
  const look = () =>
    Promise.resolve(
      done() ? { done: true as const, value: 'ready' } : { done: false as const, missing: 'no response' },
    );
  return { clock, outcome: outcomeOf(waitUntil(wait, look, silent)) };
}

test('a cluster whose containers run is waited for, however slow the machine is', async () => {
  let ready = false;
  const { clock, outcome } = start(
    () => [container('etcd-0', 'running'), container('pki', 'exited')],
    () => ready,
  );
  await clock.advance(500 * SECOND);
  expect(outcome.text).toBeUndefined();
  ready = true;
  await clock.advance(SECOND);
  expect(outcome.text).toBe('ready');
});

test('a container that keeps restarting ends the wait after a minute, and is named', async () => {
  const { clock, outcome } = start(() => [container('etcd-0', 'running'), container('etcd-1', 'restarting')]);
  await clock.advance(59 * SECOND);
  expect(outcome.text).toBeUndefined();
  await clock.advance(3 * SECOND);
  expect(outcome.text).toBe('the API: containers that keep restarting: etcd-1 (no response)');
});

test('a container that was restarting and runs again does not end the wait', async () => {
  let looks = 0;
  const { clock, outcome } = start(() => [container('agent-1', ++looks % 6 === 0 ? 'running' : 'restarting')]);
  await clock.advance(590 * SECOND);
  expect(outcome.text).toBeUndefined();
});

test('the wait ends at its time limit, and says what is missing', async () => {
  const { clock, outcome } = start(() => []);
  await clock.advance(600 * SECOND);
  expect(outcome.text).toBe('the API took longer than 600 s: no response');
});

test('an attempt is repeated until it succeeds, and the last line of its error says what is missing', async () => {
  const clock = new ManualClock();
  const errors = ['Error: no\nconnection refused', 'not healthy yet'];
  const notes: string[] = [];
  const attempt = async () => {
    const message = errors.shift();
    if (message !== undefined) throw new CommandError(message);
  };
  const wait = { clock, what: 'etcd', timeoutMs: 600 * SECOND, everyMs: SECOND };
  const outcome = outcomeOf(untilSucceeds(wait, attempt, (missing) => notes.push(missing)));
  await clock.advance(3 * SECOND);
  expect([outcome.text, notes]).toEqual(['undefined', ['connection refused', 'not healthy yet']]);
});

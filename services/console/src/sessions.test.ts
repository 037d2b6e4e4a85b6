import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { OneTimeLinks } from './one-time-links.ts';
import { Sessions } from './sessions.ts';

const MINUTE = 60_000;
const LIMITS = { max: 4, maxOfUser: 2, maxRequests: 2, idleMs: 10 * MINUTE, lifeMs: 60 * MINUTE };
const as = (user: string, endsAt?: number) => ({ user, groups: [], token: `token of ${user}`, endsAt });

function start() {
  const clock = new ManualClock();
  let secrets = 0;
  const newSecret = () => `secret-${++secrets}`;
  return { clock, sessions: new Sessions(LIMITS, { clock, newSecret }), links: new OneTimeLinks({ clock, newSecret }) };
}

test('a session is found by its cookie alone, and its end ends its requests', () => {
  const { sessions } = start();
  const { cookie, session } = sessions.begin(as('jane'));
  expect(sessions.find(cookie)).toBe(session);
  for (const other of [undefined, '', session.csrf, `${cookie}x`]) expect(sessions.find(other)).toBeUndefined();
  sessions.end(session);
  expect(sessions.find(cookie)).toBeUndefined();
  expect(session.signal.aborted).toBe(true);
});

test('a session ends ten minutes after its last request, and after an hour whatever is requested', async () => {
  const { clock, sessions } = start();
  const [idle, used] = [sessions.begin(as('jane')), sessions.begin(as('joe'))];
  for (let i = 0; i < 5; i++) {
    await clock.advance(9 * MINUTE);
    expect(sessions.find(used.cookie), `${i}`).toBe(used.session);
  }
  expect(sessions.find(idle.cookie)).toBeUndefined();
  expect(idle.session.signal.aborted).toBe(true);
  await clock.advance(9 * MINUTE);
  expect(sessions.find(used.cookie)).toBe(used.session);
  await clock.advance(6 * MINUTE);
  expect(sessions.find(used.cookie)).toBeUndefined();
});

test('a session ends with its token', async () => {
  const { clock, sessions } = start();
  const { cookie, session } = sessions.begin(as('jane', clock.now() + 5 * MINUTE));
  expect(session.expiresAt).toBe(clock.now() + 5 * MINUTE);
  await clock.advance(5 * MINUTE - 1);
  expect(sessions.find(cookie)).toBe(session);
  await clock.advance(1);
  expect(sessions.find(cookie)).toBeUndefined();
});

test('streams of a session that nobody uses any more end without a further request', async () => {
  const { clock, sessions } = start();
  const { session } = sessions.begin(as('jane'));
  const stop = new AbortController();
  const running = sessions.run(stop.signal);
  await clock.advance(11 * MINUTE);
  expect(session.signal.aborted).toBe(true);
  const { session: last } = sessions.begin(as('joe'));
  stop.abort();
  await running;
  expect([last.signal.aborted, sessions.size, clock.nextTimerMs()]).toEqual([true, 0, undefined]);
});

test('a user has two sessions, and there are four: the one that was not used longest goes', async () => {
  const { clock, sessions } = start();
  const begun = [];
  for (const user of ['jane', 'jane', 'joe', 'jim']) {
    begun.push(sessions.begin(as(user)));
    await clock.advance(1000);
  }
  sessions.find(begun[0]?.cookie);
  sessions.begin(as('jane'));
  expect(begun.map(({ cookie }) => sessions.find(cookie) !== undefined)).toEqual([true, false, true, true]);
  await clock.advance(1000);
  for (const at of [0, 3]) sessions.find(begun[at]?.cookie);
  sessions.begin(as('jack'));
  sessions.begin(as('jill'));
  expect(sessions.size).toBe(4);
  expect(begun.map(({ session }) => session.signal.aborted)).toEqual([false, true, true, false]);
});

test('a session has a limit of open requests', () => {
  const { session } = start().sessions.begin(as('jane'));
  const [one] = [session.begin(), session.begin()];
  expect(session.begin()).toBeUndefined();
  one?.[Symbol.dispose]();
  one?.[Symbol.dispose]();
  expect(session.begin()).toBeDefined();
  expect(session.begin()).toBeUndefined();
});

test('a link signs in once, within two minutes, and at most 32 wait', async () => {
  const { clock, links } = start();
  const code = links.add(as('jane'));
  expect(links.take('another')).toBeUndefined();
  expect(links.take(code)).toMatchObject({ user: 'jane' });
  expect(links.take(code)).toBeUndefined();
  const [inTime, late] = [links.add(as('jane')), links.add(as('joe'))];
  await clock.advance(2 * MINUTE - 1);
  expect(links.take(inTime)).toMatchObject({ user: 'jane' });
  await clock.advance(1);
  expect(links.take(late)).toBeUndefined();
  const codes = Array.from({ length: 33 }, (_, i) => links.add(as(`jim-${i}`)));
  expect(codes.map((one) => links.take(one) !== undefined).indexOf(true)).toBe(1);
});

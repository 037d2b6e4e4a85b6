import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { HOLD_MS, Renewals } from './renewals.ts';

it('holds the Lease from the sending of a renewal, not from its response', async () => {
  const clock = new ManualClock();
  const renewals = new Renewals(clock);
  expect(renewals.tenure()).toBeUndefined();
  const sentMs = clock.monotonicMs();
  await clock.advance(HOLD_MS - 1);
  renewals.renewed(sentMs);
  expect(renewals.tenure()).toBe(1);
  await clock.advance(1);
  expect(renewals.tenure()).toBeUndefined();
});

it('begins another tenure with a renewal that comes too late, also when nobody asked in between', async () => {
  const clock = new ManualClock();
  const renewals = new Renewals(clock);
  renewals.renewed(clock.monotonicMs());
  await clock.advance(HOLD_MS - 1);
  renewals.renewed(clock.monotonicMs());
  expect(renewals.tenure()).toBe(1);
  await clock.advance(HOLD_MS);
  renewals.renewed(clock.monotonicMs());
  expect(renewals.tenure()).toBe(2);
});

it('counts from the start of the process before the first renewal, because a former process may have been cut off', async () => {
  const clock = new ManualClock();
  const renewals = new Renewals(clock);
  await clock.advance(40_000);
  expect(renewals.ageMs()).toBe(40_000);
  renewals.renewed(clock.monotonicMs() - 500);
  expect(renewals.ageMs()).toBe(500);
});

it('lets callers wait for a renewal that succeeds in time', async () => {
  const clock = new ManualClock();
  const renewals = new Renewals(clock);
  const held: string[] = [];
  const waiting = renewals.untilHeld(new AbortController().signal).then(() => held.push('held'));
  renewals.renewed(clock.monotonicMs() - HOLD_MS);
  await clock.advance(1);
  expect(held).toEqual([]);
  renewals.renewed(clock.monotonicMs());
  await waiting;
});

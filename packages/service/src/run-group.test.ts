import { EventEmitter } from 'node:events';
import { ManualClock } from '@gantry/base/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from './logger.ts';
import { exitCodeOf, type GroupMember, runGroup } from './run-group.ts';

describe('a run group', () => {
  let clock: ManualClock;
  let signals: EventEmitter;
  let log: string[];
  beforeEach(() => {
    clock = new ManualClock();
    signals = new EventEmitter();
    log = [];
  });
  const run = (members: readonly GroupMember[]) =>
    runGroup(members, { clock, logger: silentLogger, signals, drainMs: 1000, closeMs: 500 });
  const member = (name: string, rest: Partial<GroupMember> = {}): GroupMember => ({
    name,
    run: (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          log.push(`end ${name}`);
          resolve();
        });
      }),
    drain: async () => {
      log.push(`drain ${name}`);
    },
    close: async () => {
      log.push(`close ${name}`);
    },
    ...rest,
  });

  it('drains all, then ends and closes each, last one first', async () => {
    const outcome = run([member('a'), member('b')]);
    signals.emit('SIGTERM');
    expect(exitCodeOf(await outcome)).toBe(0);
    expect(log).toEqual(['drain b', 'drain a', 'end b', 'close b', 'end a', 'close a']);
    expect(signals.listenerCount('SIGTERM')).toBe(0);
  });

  it('stops all when one ends, and returns the reason', async () => {
    const failing = member('b', { run: () => Promise.reject(new TypeError('broken')) });
    const outcome = await run([member('a'), failing]);
    expect(outcome).toMatchObject({ kind: 'ended', member: 'b', error: { message: 'broken' } });
    expect(exitCodeOf(outcome)).toBe(1);
    expect(log).toContain('close a');
  });

  it('does not wait forever for a member that does not drain, end or close', async () => {
    const never = () => new Promise<never>(() => undefined);
    const outcome = run([member('a'), member('b', { run: never, drain: never, close: never })]);
    signals.emit('SIGINT');
    await clock.advance(10_000);
    expect(await outcome).toMatchObject({ kind: 'signal', signal: 'SIGINT' });
    expect(log).toEqual(['end a', 'close a']);
  });

  it('cuts draining short at a second signal', async () => {
    const stuck = member('b', {
      drain: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const outcome = run([member('a'), stuck]);
    signals.emit('SIGTERM');
    await clock.advance(1);
    signals.emit('SIGTERM');
    expect(exitCodeOf(await outcome)).toBe(1);
    expect(log).toEqual(['end b', 'close b', 'end a', 'close a']);
  });
});

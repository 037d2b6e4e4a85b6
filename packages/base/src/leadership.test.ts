import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { untilAborted } from './abort.ts';
import { type Ability, type ElectionEvent, lead, type LeadOptions, type Term } from './leadership.ts';
import { ManualClock } from './testing/index.ts';

const term = { electionKey: '/gantry/elections/kube-test', epoch: 1, incarnation: 'i' };
const ELECTED: ElectionEvent = { kind: 'elected', term };

class BrokenError extends Error {}

describe('a candidate', () => {
  let clock: ManualClock;
  let startMs: number;
  let stop: AbortController;
  /** Log of events, each with milliseconds since the start. */
  let history: string[];
  let running: Promise<void>;
  beforeEach(() => {
    clock = new ManualClock();
    startMs = clock.monotonicMs();
    stop = new AbortController();
    history = [];
    running = Promise.resolve();
  });
  afterEach(async () => {
    stop.abort();
    await clock.advance(10_000);
    await running;
  });

  const note = (what: string) => void history.push(`${clock.monotonicMs() - startMs} ${what}`);

  /** Runs a candidate. Its campaigns yield these events at intervals of a second, and take a while to end. */
  function start(events: readonly ElectionEvent[], act: LeadOptions['act'] = acts, ability?: Ability): void {
    const campaign = async function* (signal: AbortSignal) {
      note('campaign');
      for (const event of events) {
        note(event.kind);
        yield event;
        await new Promise<void>((resolve) => clock.setTimer(1000, resolve));
      }
      await untilAborted(signal);
      await new Promise<void>((resolve) => clock.setTimer(300, resolve));
      note('resigned');
    };
    const log = (_fields: object, message: string) => {
      if (message.startsWith('acting')) note(message);
    };
    const options = { clock, random: () => 0.5, log: { info: log, warn: log, error: log } };
    running = lead({ ...options, election: { campaign }, act, ability }, stop.signal);
  }

  async function acts({ epoch }: Term, signal: AbortSignal): Promise<void> {
    note(`acts in ${epoch}`);
    await untilAborted(signal);
    note('ends');
  }

  it('acts while its term is certain, never twice at a time', async () => {
    start([ELECTED, { kind: 'suspended' }, { kind: 'resumed', term }, { kind: 'lost' }]);
    await clock.advance(5000);
    expect(history).toEqual([
      '0 campaign',
      '0 elected',
      '0 acts in 1',
      '1000 suspended',
      '1000 ends',
      '2000 resumed',
      '2000 acts in 1',
      '3000 lost',
      '3000 ends',
    ]);
  });

  it('takes the next event when it has dropped everything', async () => {
    start([ELECTED, { kind: 'lost' }], async (_term, signal) => {
      await untilAborted(signal);
      await new Promise<void>((resolve) => clock.setTimer(700, resolve));
      note('ends');
    });
    await clock.advance(1699);
    expect(history.at(-1)).toBe('1000 lost');
    await clock.advance(1);
    expect(history.at(-1)).toBe('1700 ends');
  });

  it('stops acting at once when it is aborted, however long it takes to resign', async () => {
    start([ELECTED]);
    await clock.advance(2000);
    stop.abort();
    await clock.advance(300);
    await running;
    expect(history.slice(2)).toEqual(['0 acts in 1', '2000 ends', '2300 resigned']);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  it('tries again when acting failed, later each time', async () => {
    start([ELECTED], () => Promise.reject(new BrokenError()));
    await clock.advance(5000);
    const failed = 'acting as the leader failed, trying again';
    expect(history.slice(2)).toEqual([0, 200, 600, 1400, 3000, 5000].map((ms) => `${ms} ${failed}`));
  });

  it('begins with the shortest delay again when it has acted for a while', async () => {
    let count = 0;
    start([ELECTED], async () => {
      note('acts');
      if (++count === 5) await new Promise<void>((resolve) => clock.setTimer(10_000, resolve));
      throw new BrokenError();
    });
    await clock.advance(14_000);
    expect(history.filter((line) => line.endsWith(' acts'))).toEqual(
      [0, 200, 600, 1400, 3000, 13_200, 13_600].map((ms) => `${ms} acts`),
    );
  });

  it('resigns when acting ends by itself, and campaigns again after a rest', async () => {
    start([ELECTED], async () => {
      await new Promise<void>((resolve) => clock.setTimer(1500, resolve));
    });
    await clock.advance(3800);
    expect(history).toEqual([
      '0 campaign',
      '0 elected',
      '1500 acting as the leader has ended: resigning',
      '1800 resigned',
      '3800 campaign',
      '3800 elected',
    ]);
  });

  describe('that may become unable', () => {
    let able: PromiseWithResolvers<void>;
    let unable: PromiseWithResolvers<void>;
    beforeEach(() => {
      able = Promise.withResolvers();
      unable = Promise.withResolvers();
    });
    const ability: Ability = {
      gained: async (signal) => await Promise.race([able.promise, untilAborted(signal)]),
      lost: async (signal) => await Promise.race([unable.promise, untilAborted(signal)]),
    };

    it('campaigns once it is able to lead', async () => {
      start([ELECTED], acts, ability);
      await clock.advance(5000);
      expect(history).toEqual([]);
      able.resolve();
      await clock.advance(0);
      expect(history).toEqual(['5000 campaign', '5000 elected', '5000 acts in 1']);
    });

    it('resigns when it is unable, and campaigns no more until it is able again', async () => {
      able.resolve();
      start([ELECTED], acts, ability);
      await clock.advance(1500);
      able = Promise.withResolvers();
      unable.resolve();
      await clock.advance(60_000);
      expect(history.slice(3)).toEqual(['1500 ends', '1800 resigned']);
      unable = Promise.withResolvers();
      able.resolve();
      await clock.advance(0);
      expect(history.slice(5)).toEqual(['61500 campaign', '61500 elected', '61500 acts in 1']);
    });

    it('ends while it waits to become able', async () => {
      start([ELECTED], acts, ability);
      await clock.advance(1000);
      stop.abort();
      await running;
      expect(history).toEqual([]);
    });

    it('resigns when it cannot find out whether it is able', async () => {
      able.resolve();
      start([ELECTED], acts, ability);
      await clock.advance(1000);
      unable.reject(new BrokenError());
      await clock.advance(300);
      unable = Promise.withResolvers();
      expect(history.slice(3)).toEqual(['1000 ends', '1300 resigned']);
      await clock.advance(200);
      expect(history.slice(5)).toEqual(['1500 campaign', '1500 elected', '1500 acts in 1']);
    });
  });

  it('begins another campaign when one has failed, and acts no more meanwhile', async () => {
    let campaigns = 0;
    const campaign = async function* (): AsyncGenerator<ElectionEvent> {
      note('campaign');
      if (++campaigns === 3) return await new Promise<never>(() => undefined);
      yield ELECTED;
      throw new BrokenError();
    };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    void lead({ election: { campaign }, act: acts, clock, random: () => 0.5, log }, stop.signal);
    await clock.advance(1000);
    expect(history).toEqual([
      '0 campaign',
      '0 acts in 1',
      '0 ends',
      '200 campaign',
      '200 acts in 1',
      '200 ends',
      '600 campaign',
    ]);
  });
});

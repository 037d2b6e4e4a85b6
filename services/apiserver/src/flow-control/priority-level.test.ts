import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { planSeats } from './borrowing.ts';
import { type LevelSettings, PriorityLevel, type Seats } from './priority-level.ts';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

const never = new AbortController().signal;

function start(settings: Partial<LevelSettings> = {}) {
  const clock = new ManualClock();
  const level = new PriorityLevel(
    {
      name: 'test',
      uid: '',
      mode: 'queue',
      queues: 16,
      handSize: 4,
      queueLengthLimit: 3,
      nominal: 2,
      lower: 1,
      upper: 10,
      ...settings,
    },
    clock,
  );
  /** Takes seats or waits for them. `state` is the last step. */
  const ask = (flow: string, width = 1, signal = never) => {
    const request: { state: string; seats?: Seats } = { state: 'waiting' };
    const take = (seats: Seats): void => {
      request.state = 'started';
      request.seats = seats;
    };
    const now = level.tryStart('schema', width);
    if (now !== undefined) take(now);
    else {
      level.wait('schema', flow, width, signal).then(take, (error: unknown) => {
        request.state = (error as { reason: string }).reason;
      });
    }
    return request;
  };
  return { clock, level, ask, settle: () => clock.advance(0) };
}

describe('a priority level', () => {
  it('starts as many as it has seats, and the next ones as those end', async () => {
    const { ask, level, settle } = start();
    const requests = ['a', 'a', 'a'].map((flow) => ask(flow));
    expect(requests.map(({ state }) => state)).toEqual(['started', 'started', 'waiting']);
    requests[0]?.seats?.release();
    requests[0]?.seats?.release();
    await settle();
    expect(requests[2]?.state).toBe('started');
    expect(level.executingSeats).toBe(2);
  });

  it('counts how long requests lasted, how many waited, how wide they were, and how often there was no room', async () => {
    const { ask, clock, level, settle } = start({ nominal: 1 });
    const [first, second] = [ask('a'), ask('a')];
    await clock.advance(2000);
    first?.seats?.release();
    await settle();
    await clock.advance(500);
    second?.seats?.release();
    level.tryStart('schema', 1, 'watch')?.release();
    const load = level.loads.get('schema');
    expect(load).toMatchObject({
      unaccommodated: 1,
      estimates: { count: 3, sum: 3 },
      lengths: { count: 1, sum: 1 },
      executions: { regular: { count: 2, sum: 2.5 }, watch: { count: 1, sum: 0 } },
    });
  });

  it('counts the requests of each schema, and their seats', async () => {
    const { ask, level, settle } = start({ nominal: 4 });
    const stop = new AbortController();
    const [wide, narrow, waits] = [ask('a', 3), ask('a', 1), ask('a', 2)];
    const leaves = ask('a', 1, stop.signal);
    const load = () => level.loads.get('schema');
    expect(load()).toMatchObject({ executing: 2, executingSeats: 4, waiting: 2, waitingSeats: 3, dispatched: 2 });
    stop.abort();
    await settle();
    expect(leaves.state).toBe('cancelled');
    wide.seats?.release();
    await settle();
    expect(load()).toMatchObject({ executing: 2, executingSeats: 3, waiting: 0, waitingSeats: 0, dispatched: 3 });
    for (const { seats } of [narrow, waits]) seats?.release();
    expect(load()).toMatchObject({ executing: 0, executingSeats: 0, waiting: 0, waitingSeats: 0, dispatched: 3 });
  });

  it('refuses a flow whose queues are full, and lets others wait', async () => {
    const { ask, level, settle } = start();
    const flood = Array.from({ length: 40 }, () => ask('elephant'));
    const mice = Array.from({ length: 10 }, (_, i) => ask(`mouse-${i}`));
    await settle();
    expect(flood.filter(({ state }) => state === 'queue-full')).toHaveLength(40 - 2 - 4 * 3);
    expect(mice.filter(({ state }) => state === 'waiting').length).toBeGreaterThanOrEqual(8);
    expect(level.waiting).toBeLessThanOrEqual(16 * 3);
  });

  it('serves a flow that comes late before the rest of one that came first', async () => {
    const { ask, clock, settle } = start({ nominal: 1, queueLengthLimit: 50 });
    const flood = Array.from({ length: 60 }, () => ask('elephant'));
    const mouse = ask('mouse');
    let served = 0;
    while (mouse.state === 'waiting') {
      const running = flood.find(({ state, seats }) => state === 'started' && seats !== undefined);
      await clock.advance(10);
      running?.seats?.release();
      if (running !== undefined) delete running.seats;
      served += 1;
      await settle();
    }
    // The queue of this flow is served in turn with the four queues of the other flow.
    expect(served).toBeLessThanOrEqual(10);
  });

  it('refuses what has waited for 15 s, and forgets what has gone', async () => {
    const { ask, clock, level, settle } = start({ nominal: 1 });
    ask('a');
    const late = ask('b');
    const gone = new AbortController();
    const left = ask('c', 1, gone.signal);
    gone.abort();
    await settle();
    expect(left.state).toBe('cancelled');
    await clock.advance(15_000);
    expect(late.state).toBe('time-out');
    expect(level.waiting).toBe(0);
  });

  it('refuses at once what may not wait', async () => {
    const { ask, settle } = start({ mode: 'reject', nominal: 1 });
    ask('a');
    const second = ask('a');
    await settle();
    expect(second.state).toBe('concurrency-limit');
  });

  it('starts everything when it is exempt', () => {
    const { ask } = start({ mode: 'exempt', nominal: 1 });
    expect(Array.from({ length: 100 }, () => ask('a').state)).not.toContain('waiting');
  });

  it('serves a wide request alone when it wants more seats than there are', async () => {
    const { ask, settle } = start({ nominal: 2 });
    const narrow = ask('a');
    const wide = ask('b', 5);
    expect(wide.state).toBe('waiting');
    narrow.seats?.release();
    await settle();
    expect(wide.state).toBe('started');
  });

  it('starts what waits when it borrows seats', async () => {
    const { ask, level, settle } = start({ nominal: 1 });
    ask('a');
    const second = ask('b');
    level.setLimit(2);
    await settle();
    expect(second.state).toBe('started');
  });
});

describe('lending', () => {
  it('knows the peak, the average and the spread of a period', async () => {
    const { ask, clock, level } = start({ nominal: 10 });
    const request = ask('a', 2);
    await clock.advance(5000);
    request.seats?.release();
    await clock.advance(5000);
    expect(level.endPeriod()).toEqual({ high: 2, average: 1, deviation: 1, smooth: 2 });
    await clock.advance(10_000);
    expect(level.endPeriod()).toMatchObject({ high: 0, average: 0, deviation: 0 });
    expect(level.demand.smooth).toBeCloseTo(0.977 * 2);
  });

  const idle = { nominal: 100, lower: 50, upper: 200, high: 0, smooth: 0 };

  it('gives an idle level’s seats to one that wants them, up to its bound', () => {
    const [busy = 0, lender = 0] = planSeats([{ ...idle, high: 500, smooth: 500 }, idle], 200).seats;
    expect(busy).toBe(150);
    expect(lender).toBe(50);
    expect(planSeats([{ ...idle, upper: 120, high: 500, smooth: 500 }, idle], 200).seats[0]).toBe(120);
  });

  it('leaves a level what it uses of its own', () => {
    const levels = [
      { ...idle, high: 500, smooth: 500 },
      { ...idle, high: 90, smooth: 10 },
    ];
    expect(planSeats(levels, 200).seats).toEqual([110, 90]);
  });
});

describe('a plan of seats', () => {
  it('says what each level should have, and what part of it they get', () => {
    const level = { nominal: 100, lower: 0, upper: 1000, high: 0, smooth: 0 };
    const plan = planSeats(
      [
        { ...level, smooth: 300 },
        { ...level, smooth: 100 },
      ],
      200,
    );
    expect(plan.targets).toEqual([300, 100]);
    expect(plan.seats).toEqual([150, 50]);
    expect(plan.fairFraction).toBeCloseTo(0.5);
    expect(planSeats([{ ...level, high: 100 }], 100)).toEqual({ seats: [100], targets: [100], fairFraction: 0 });
  });
});

describe('a flow’s hand of queues', () => {
  it('is always the same, of different queues, and rarely that of another flow', () => {
    const hands = Array.from({ length: 200 }, (_, i) => dealHand(hashFlow('schema', `user-${i}`), 64, 6));
    for (const hand of hands) {
      expect(new Set(hand).size).toBe(6);
      expect(Math.max(...hand)).toBeLessThan(64);
    }
    expect(dealHand(hashFlow('schema', 'user-0'), 64, 6)).toEqual(hands[0]);
    expect(new Set(hands.map((hand) => hand.toSorted((a, b) => a - b).join())).size).toBe(200);
  });
});

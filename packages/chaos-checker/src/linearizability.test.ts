import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLinearizable, type Operation } from './linearizability.ts';
import { seededRandom } from './testing/seeded-random.ts';

let clock = 0;
const op = (
  calledAt: number,
  returnedAt: number | undefined,
  request: Operation['request'],
  outcome: Operation['outcome'],
): Operation => ({ client: 0, calledAt, returnedAt, request, outcome });
const read = (from: number, to: number, value: string | undefined) =>
  op(from, to, { kind: 'read' }, { kind: 'ok', value });
const create = (from: number, to: number, value: string) => op(from, to, { kind: 'create', value }, { kind: 'ok' });
const update = (from: number, to: number, expected: string, value: string) =>
  op(from, to, { kind: 'update', expected, value }, { kind: 'ok' });

const GOOD: readonly [string, readonly Operation[]][] = [
  ['nothing', []],
  ['one after the other', [create(1, 2, 'a'), read(3, 4, 'a'), update(5, 6, 'a', 'b'), read(7, 8, 'b')]],
  ['a read beside a write sees either', [create(1, 2, 'a'), update(3, 9, 'a', 'b'), read(4, 5, 'a'), read(6, 7, 'b')]],
  [
    'a deletion and a new creation',
    [
      create(1, 2, 'a'),
      op(3, 4, { kind: 'delete', expected: 'a' }, { kind: 'ok' }),
      read(5, 6, undefined),
      create(7, 8, 'b'),
    ],
  ],
  [
    'the loser of two updates is refused',
    [
      create(1, 2, 'a'),
      update(3, 6, 'a', 'b'),
      op(4, 7, { kind: 'update', expected: 'a', value: 'c' }, { kind: 'refused' }),
      read(8, 9, 'b'),
    ],
  ],
  [
    'an unknown write may have landed',
    [op(1, undefined, { kind: 'create', value: 'a' }, { kind: 'unknown' }), read(5, 6, 'a')],
  ],
  [
    'or may land late',
    [op(1, undefined, { kind: 'create', value: 'a' }, { kind: 'unknown' }), read(5, 6, undefined), read(7, 8, 'a')],
  ],
  ['or never', [op(1, undefined, { kind: 'create', value: 'a' }, { kind: 'unknown' }), read(5, 6, undefined)]],
];

const BROKEN: readonly [string, readonly Operation[]][] = [
  ['a stale read', [create(1, 2, 'a'), update(3, 4, 'a', 'b'), read(5, 6, 'a')]],
  ['a read back in time', [create(1, 2, 'a'), update(3, 9, 'a', 'b'), read(4, 5, 'b'), read(6, 7, 'a')]],
  ['a lost update', [create(1, 2, 'a'), update(3, 6, 'a', 'b'), update(4, 7, 'a', 'c')]],
  ['a lost acknowledged write', [create(1, 2, 'a'), read(3, 4, undefined)]],
  ['a value from nowhere', [read(1, 2, 'a')]],
  ['two creations', [create(1, 2, 'a'), create(3, 4, 'b')]],
  [
    'a refusal without a reason',
    [create(1, 2, 'a'), op(3, 4, { kind: 'update', expected: 'a', value: 'b' }, { kind: 'refused' })],
  ],
  [
    'a deleted object that comes back',
    [
      create(1, 2, 'a'),
      op(3, 4, { kind: 'delete', expected: 'a' }, { kind: 'ok' }),
      read(5, 6, undefined),
      read(7, 8, 'a'),
    ],
  ],
];

/** A history of a real register: each operation takes effect at one moment between its call and its return. */
function playedHistory(seed: number, length: number, lostShare = 0.05): Operation[] {
  const random = seededRandom(seed);
  let value: string | undefined;
  let last: string | undefined;
  const history: Operation[] = [];
  for (let i = 0; i < length; i++) {
    clock += 1 + random();
    const calledAt = clock - 12 * random();
    const returnedAt = clock + 12 * random();
    const kind = (['read', 'create', 'update', 'delete'] as const)[Math.floor(random() * 4)] ?? 'read';
    const expected = random() < 0.8 ? (value ?? 'none') : (last ?? 'none');
    if (kind === 'read') {
      history.push(read(calledAt, returnedAt, value));
      continue;
    }
    const request =
      kind === 'create'
        ? { kind, value: `v${i}` }
        : kind === 'update'
          ? { kind, expected, value: `v${i}` }
          : { kind, expected };
    const fits = kind === 'create' ? value === undefined : value === expected;
    const lost = random() < lostShare;
    if (fits) {
      last = value;
      value = kind === 'delete' ? undefined : `v${i}`;
    }
    const outcome = lost ? ({ kind: 'unknown' } as const) : ({ kind: fits ? 'ok' : 'refused' } as const);
    history.push(op(calledAt, lost ? undefined : returnedAt, request, outcome));
  }
  return history;
}

describe('the history checker', () => {
  it.each(GOOD)('accepts %s', (_, history) => {
    expect(checkLinearizable(history)).toEqual({ linearizable: true });
  });

  it.each(BROKEN)('finds %s', (_, history) => {
    expect(checkLinearizable(history).linearizable).toBe(false);
  });

  it('accepts what a register does under many overlapping clients, and finds one wrong read in it', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const history = playedHistory(seed, 250);
      expect(checkLinearizable(history), `seed ${seed}`).toEqual({ linearizable: true });
      const written = history.findIndex(({ request, outcome }) => request.kind === 'create' && outcome.kind === 'ok');
      const stale = history[written];
      if (stale?.request.kind !== 'create') continue;
      const end = Math.max(...history.map(({ returnedAt = 0 }) => returnedAt));
      const twice = [
        ...history,
        read(end + 1, end + 2, stale.request.value),
        read(end + 3, end + 4, undefined),
        read(end + 5, end + 6, stale.request.value),
      ];
      expect(checkLinearizable(twice).linearizable, `seed ${seed}`).toBe(false);
    }
  });

  it('agrees with the trial of all orders, for registers with few values, as in the histories that Porcupine publishes', () => {
    const value = fc.constantFrom('1', '2');
    const request = fc.oneof(
      fc.constant({ kind: 'read' } as const),
      fc.record({ kind: fc.constant('write' as const), value }),
      fc.record({ kind: fc.constant('update' as const), expected: value, value }),
      fc
        .record({ kind: fc.constant('delete' as const), expected: fc.option(value, { nil: undefined }) })
        .map(withoutUndefined),
    );
    const outcome = fc.oneof(
      fc.record({ kind: fc.constant('ok' as const), value: fc.option(value, { nil: undefined }) }),
      fc.constant({ kind: 'refused' } as const),
      fc.constant({ kind: 'unknown' } as const),
    );
    const time = fc.integer({ min: 0, max: 8 });
    const operation = fc.tuple(time, time, request, outcome).map(([one, other, asked, given]) => {
      const calledAt = Math.min(one, other);
      return op(calledAt, given.kind === 'unknown' ? undefined : Math.max(one, other) + 0.5, asked, given);
    });
    const seen = { true: 0, false: 0 };
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 6 }), (history) => {
        const expected = someOrder(history, undefined, new Set());
        seen[`${expected}`]++;
        expect(checkLinearizable(history).linearizable).toBe(expected);
      }),
      { numRuns: 3000, seed: 1 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(300);
  });

  it('checks 20,000 operations on one object, of which 20 had no response', () => {
    expect(checkLinearizable(playedHistory(1, 20_000, 0.001))).toEqual({ linearizable: true });
  });

  it('gives up after the allowed number of steps', () => {
    expect(checkLinearizable(playedHistory(1, 250), undefined, 20)).toEqual({ linearizable: undefined });
  });
});

function withoutUndefined({ kind, expected }: { kind: 'delete'; expected: string | undefined }) {
  return expected === undefined ? { kind } : { kind, expected };
}

/** Tries every order that respects time. Written without the checker's rules, from the meaning of the operations. */
function someOrder(history: readonly Operation[], state: string | undefined, done: ReadonlySet<number>): boolean {
  const open = history.flatMap((one, index) => (done.has(index) ? [] : [{ one, index }]));
  if (open.every(({ one }) => one.outcome.kind === 'unknown')) return true;
  const firstReturn = Math.min(...open.map(({ one }) => one.returnedAt ?? Number.POSITIVE_INFINITY));
  return open.some(({ one: { request, outcome, calledAt }, index }) => {
    if (calledAt > firstReturn) return false;
    const then = (next: string | undefined) => someOrder(history, next, new Set([...done, index]));
    const fits =
      request.kind === 'read' ||
      request.kind === 'write' ||
      (request.kind === 'create'
        ? state === undefined
        : request.expected === undefined
          ? state !== undefined
          : state === request.expected);
    const next = request.kind === 'read' ? state : request.kind === 'delete' ? undefined : request.value;
    switch (outcome.kind) {
      case 'ok':
        return fits && (request.kind !== 'read' || outcome.value === state) && then(next);
      case 'refused':
        return !fits && then(state);
      case 'unknown':
        return then(fits ? next : state);
    }
  });
}

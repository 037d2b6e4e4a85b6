import { expect, test } from 'vitest';
import { formatRunState, parseRunState, recordResults, remaining, type RunState } from './run-state.ts';

const START: RunState = { selected: ['a', 'b', 'c'], startedAt: '2026-01-01T00:00:00Z', starts: 1, results: new Map() };
const DATE = '2026-01-01';

test('what has a result is not run again', () => {
  const state = recordResults(
    START,
    [
      { name: 'b', outcome: 'failed', seconds: 1 },
      { name: 'of another run', outcome: 'passed', seconds: 1 },
    ],
    DATE,
  );
  expect(remaining(state)).toEqual(['a', 'c']);
  expect([...state.results.keys()]).toEqual(['b']);
});

test('a report replaces what the output said, and leaves the day on which the test ended', () => {
  const ended = recordResults(START, [{ name: 'a', outcome: 'failed', seconds: 2 }], DATE);
  const state = recordResults(ended, [{ name: 'a', outcome: 'failed', seconds: 2, message: 'why' }], '2026-01-02');
  expect(state.results.get('a')).toEqual({ name: 'a', outcome: 'failed', seconds: 2, message: 'why', date: DATE });
});

test('a state survives being written and read', () => {
  const state = recordResults(START, [{ name: 'c', outcome: 'skipped', seconds: 1, message: 'needs two nodes' }], DATE);
  expect(parseRunState(formatRunState(state))).toEqual(state);
});

import { expect, test } from 'vitest';
import { answeredAgainAt } from './answers.ts';

/** Requests of 10 ms each: `+` was answered, `-` was not. The first one is sent at 0. */
const requests = (results: string) =>
  [...results].map((result, index) => ({ sentAt: index * 10, doneAt: index * 10 + 10, isAnswered: result === '+' }));
const STRUCK_AT = 20;

test.each([
  ['that nothing has broken', ['++++'], 30],
  ['without an answer after the last failure', ['+++--'], undefined],
  ['after its last failure, although it was answered before', ['+++-+--++'], 80],
  ['after the slowest of all clients', ['++--+++', '++---++', '+++++++'], 60],
  ['of which one client has no answer', ['++--+++', '++-----'], undefined],
  ['that failed only before the fault', ['-+++'], 30],
  ['whose request failed that was sent before the fault and ended after it', ['+--+'], 40],
])('a component %s', (_, clients, at) => {
  expect(answeredAgainAt(clients.map(requests), STRUCK_AT)).toBe(at);
});

import { expect, it } from 'vitest';
import { hasEnded } from './pod-phase.ts';

it.each([
  ['Succeeded', true],
  ['Failed', true],
  ['Running', false],
  ['Pending', false],
  ['Unknown', false],
  [undefined, false],
])('a pod in the phase %s has ended: %s', (phase, ended) => {
  const status = phase === undefined ? {} : { phase };
  expect(hasEnded({ apiVersion: 'v1', kind: 'Pod', metadata: {}, status })).toBe(ended);
});

it('no pod has not ended', () => {
  expect(hasEnded(undefined)).toBe(false);
});

import { expect, test } from 'vitest';
import { saysNothing } from './campaign.ts';

const COMPLETE = { faults: 3, ended: 'by itself', outcome: 'ok' } as const;

test.each([
  ['whose faults were made', {}, false],
  ['whose faults were all skipped', { faults: 0 }, true],
  ['that the user has ended', { ended: 'by the user' }, true],
  ['with incomplete artefacts', { outcome: 'unusable' }, true],
] as const)('a campaign %s', (_, change, expected) => {
  expect(saysNothing({ ...COMPLETE, ...change })).toBe(expected);
});

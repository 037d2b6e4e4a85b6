import { expect, it } from 'vitest';
import { sandboxNetwork } from './sandbox-network.ts';

/** Larger than any process id of Linux. */
const NO_PROCESS = 2 ** 23;

it.each([
  ['a process that runs', [[process.pid], [process.pid]], true],
  ['no process', [[], []], false],
  ['a process that has ended', [[NO_PROCESS], []], false],
  ['a process whose id another one has got meanwhile', [[process.pid], []], false],
])('reads the network of %s', async (_name, lists, isKnown) => {
  const found = await sandboxNetwork('id', { processesOf: async () => lists.shift() ?? [] });
  expect(found !== undefined).toBe(isKnown);
});

import { seededRandom } from '@gantry/base';
import { expect, it } from 'vitest';
import { chooseCalls, describeCrashMatrix } from '../testing/crash-matrix.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

describeCrashMatrix<TestNode>('hollow runtime', async () => ({
  start: (_name, calls) =>
    startNode({
      wrap: (hollow) => calls.wrap(hollow),
      wrapClient: (client) => calls.wrap(client),
      behaviour: { exitAfter: ({ name }) => (name === 'setup' ? { ms: 0, exitCode: 0 } : undefined) },
    }),
  restart: (world) => startNode({ world }),
  soon,
  look: async ({ hollow }) => (await hollow.observer.listPods(OWNER))[0],
  traces: async () => [],
  hostFolder: () => '/host',
  image: 'nginx:1.27',
  parallel: 1,
}));

it('a share of the crash matrix is one call each of so many kinds, and a seed chooses the same ones again', () => {
  const made = ['a #1', 'b #1', 'a #2', 'c #1', 'a #3', 'b #2'];
  const choose = (seed: number, count: number) => chooseCalls(made, count, seededRandom(seed));
  const kinds = choose(1, 3).map((call) => call.split(' ')[0]);
  expect(kinds.toSorted()).toEqual(['a', 'b', 'c']);
  expect(choose(1, 9)).toHaveLength(3);
  expect(choose(7, 2)).toEqual(choose(7, 2));
  const seeds = Array.from({ length: 50 }, (_none, seed) => choose(seed, 1)[0]);
  expect(new Set(seeds)).toEqual(new Set(made));
});

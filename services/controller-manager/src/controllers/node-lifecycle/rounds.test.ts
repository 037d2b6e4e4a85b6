import type { Node } from '@gantry/objects';
import { expect, it } from 'vitest';
import { Rounds } from './rounds.ts';

it('a round ends when all nodes have been looked at once, and takes as long as its looks', () => {
  const looks: number[] = [];
  const all: number[] = [];
  const rounds = new Rounds({ updated: (seconds) => looks.push(seconds), updatedAll: (seconds) => all.push(seconds) });
  let names = ['a', 'b'];
  let lists = 0;
  const nodes = (): Node[] => {
    lists += 1;
    return names.map((name) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } }));
  };
  rounds.looked('a', 1, nodes);
  rounds.looked('a', 2, nodes);
  expect(all).toEqual([]);
  rounds.looked('b', 4, nodes);
  expect([all, lists]).toEqual([[7], 1]);
  // Another leader's round is not continued, and what is gone is looked at for the last time.
  rounds.looked('a', 8, nodes);
  rounds.reset();
  rounds.looked('b', 16, nodes);
  names = ['b', 'c'];
  rounds.looked('a', 32, nodes);
  expect(all).toEqual([7, 48]);
  rounds.looked('b', 64, nodes);
  rounds.looked('c', 128, nodes);
  expect(all).toEqual([7, 48, 192]);
  expect(looks).toEqual([1, 2, 4, 8, 16, 32, 64, 128]);
});

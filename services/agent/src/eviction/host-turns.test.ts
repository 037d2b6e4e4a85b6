import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { expect, it, onTestFinished } from 'vitest';
import { HostTurns } from './host-turns.ts';
import type { Rank } from './rank.ts';

async function host(nodes: readonly string[]) {
  const state = await mkdtemp(join(tmpdir(), 'turns-'));
  onTestFinished(() => rm(state, { recursive: true }));
  const folder = join(state, 'nodes');
  const clock = new ManualClock();
  const turns = new Map(nodes.map((node) => [node, new HostTurns(folder, node, clock)]));
  /** Returns the agents that evict. They run one after the other, ten seconds after the last round. */
  const round = async (ranks: Readonly<Record<string, Rank>>): Promise<string[]> => {
    await clock.advance(10_000);
    const ours: string[] = [];
    for (const [node, rank] of Object.entries(ranks)) if (await turns.get(node)?.isOurs(rank)) ours.push(node);
    return ours;
  };
  return { folder, clock, round };
}

const GREEDY: Rank = [1, 0, 0, -900];
const MODEST: Rank = [1, 1, 0, 500];

it('of the nodes of a host, the one with the pod that goes first evicts, from the second look on', async () => {
  const { round } = await host(['a', 'b']);
  expect(await round({ a: MODEST, b: GREEDY })).toEqual([]);
  expect(await round({ a: MODEST, b: GREEDY })).toEqual(['b']);
  expect(await round({ a: MODEST, b: GREEDY })).toEqual(['b']);
});

it('equal pods are not evicted on two nodes at a time', async () => {
  const { round } = await host(['a', 'b']);
  await round({ a: MODEST, b: MODEST });
  expect(await round({ a: MODEST, b: MODEST })).toEqual(['a']);
});

it('a node that waits for the end of its pod is not waited for', async () => {
  const { round } = await host(['a', 'b']);
  await round({ a: MODEST, b: GREEDY });
  expect(await round({ a: MODEST })).toEqual([]);
  expect(await round({ a: MODEST })).toEqual(['a']);
});

it('a new shortage begins with a look at the others', async () => {
  const { clock, round } = await host(['a']);
  await round({ a: MODEST });
  expect(await round({ a: MODEST })).toEqual(['a']);
  await clock.advance(60_000);
  expect(await round({ a: MODEST })).toEqual([]);
});

it('a claim from before the clock was set back is not waited for', async () => {
  const { clock, round } = await host(['a', 'b']);
  const { now } = clock;
  clock.now = () => now.call(clock) + 3_600_000;
  await round({ a: MODEST, b: GREEDY });
  clock.now = now;
  // The shortage continues: only the wall clock has changed.
  expect(await round({ a: MODEST })).toEqual(['a']);
});

it.each([
  ['empty', ''],
  ['cut', '{"atMs":0,"rank":[1,0,'],
  ['null', 'null'],
  ['without a time', '{"rank":[1,0,0,-900]}'],
  ['without a rank', '{"atMs":0}'],
  ['with a rank of texts', '{"atMs":0,"rank":["1"]}'],
])('a file of another node that is %s is no claim', async (_what, text) => {
  const { folder, round } = await host(['a', 'b']);
  await mkdir(join(folder, 'b'), { recursive: true });
  await writeFile(join(folder, 'b', 'pressure.json'), text);
  await round({ a: MODEST });
  expect(await round({ a: MODEST })).toEqual(['a']);
});

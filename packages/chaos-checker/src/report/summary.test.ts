import { expect, it } from 'vitest';
import type { ClientLine } from '../artifacts.ts';
import { World } from '../history/world.ts';
import { readRecordedRun } from '../testing/editable-run.ts';
import { SummaryObserver } from './summary.ts';

type Request = readonly [fromMs: number, untilMs: number, phase: 'ok' | 'fail'];

/** The longest gaps, of requests that begin and end at these times. */
async function gapsOf(...requests: readonly Request[]): Promise<readonly string[]> {
  const { run } = await readRecordedRun();
  const observer = new SummaryObserver(run, new World(run));
  const lines = requests.flatMap(([fromMs, untilMs, phase], op) => [
    { op: `a.${op}`, phase: 'invoke', atMs: fromMs },
    { op: `a.${op}`, phase, atMs: untilMs },
  ]);
  for (const line of lines.toSorted((one, other) => one.atMs - other.atMs))
    observer.client(line as ClientLine, { file: 'a' });
  return observer.summary().gaps.map(({ fromMs, untilMs }) => `${fromMs} to ${untilMs}`);
}

it('a gap lasts from one acknowledgement to the next, also while all requests are refused', async () => {
  const gaps = await gapsOf([0, 100, 'ok'], [200, 5_000, 'fail'], [12_000, 14_000, 'fail'], [14_100, 20_000, 'ok']);
  expect(gaps).toEqual(['100 to 20000']);
});

it('there is none while clients rest, unless a request is under way', async () => {
  const gaps = await gapsOf([0, 100, 'ok'], [15_000, 15_050, 'ok'], [15_060, 40_000, 'ok']);
  expect(gaps).toEqual(['15050 to 40000', '15000 to 15050']);
});

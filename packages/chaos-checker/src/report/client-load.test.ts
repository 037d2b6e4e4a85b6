import { describe, expect, it } from 'vitest';
import type { ClientLine, FaultLine } from '../artifacts.ts';
import { World } from '../history/world.ts';
import { readRecordedRun } from '../testing/editable-run.ts';
import { ClientLoadObserver } from './client-load.ts';

type Step = { readonly fault: FaultLine['phase'] } | { readonly file: string; readonly line: object };

const invoke = (op: string, dueMs: number) => ({ op, phase: 'invoke', dueMs });
const repeat = (op: string, repeats: string) => ({ op, phase: 'invoke', repeats });

/** What is seen of steps, each at its time. */
async function loadsOf(steps: Readonly<Record<number, Step | Step[]>>) {
  const world = new World((await readRecordedRun()).run);
  const observer = new ClientLoadObserver(world);
  for (const [time, given] of Object.entries(steps)) {
    const atMs = Number(time);
    world.nowMs = atMs;
    for (const step of [given].flat()) {
      if ('fault' in step) world.applyFault({ atMs, id: 'f1', kind: 'kill', target: 'agent', phase: step.fault });
      else observer.client({ atMs, ...step.line } as ClientLine, { file: step.file, line: 1 });
    }
  }
  observer.finish();
  return observer.loads();
}

describe('ClientLoadObserver', () => {
  it('measures from when a request was due, with and without faults', async () => {
    const loads = await loadsOf({
      100: { file: 'a', line: invoke('a.1', 100) },
      130: { file: 'a', line: { op: 'a.1', phase: 'ok' } },
      200: [{ file: 'a', line: invoke('a.2', 200) }, { fault: 'start' }],
      900: { file: 'a', line: { op: 'a.2', phase: 'ok' } },
      // It was due while the client still waited.
      901: [{ fault: 'healthy' }, { file: 'a', line: invoke('a.3', 300) }],
      910: { file: 'a', line: { op: 'a.3', phase: 'ok' } },
      1000: { file: 'a', line: invoke('a.4', 1000) },
      1050: { file: 'a', line: { op: 'a.4', phase: 'ok' } },
    });
    expect(loads).toEqual([
      { during: 'calm', requests: 2, repeated: 0, failed: 0, p50Ms: 30, p99Ms: 50, maxMs: 50, longestGapMs: 140 },
      { during: 'faults', requests: 2, repeated: 0, failed: 0, p50Ms: 610, p99Ms: 700, maxMs: 700, longestGapMs: 770 },
    ]);
  });

  it('counts a request once, by its last attempt', async () => {
    const [load] = await loadsOf({
      0: { file: 'a', line: invoke('a.1', 0) },
      10: { file: 'a', line: { op: 'a.1', phase: 'unknown' } },
      20: { file: 'a', line: repeat('a.2', 'a.1') },
      30: { file: 'a', line: { op: 'a.2', phase: 'fail' } },
      31: { file: 'a', line: repeat('a.3', 'a.1') },
      40: { file: 'a', line: { op: 'a.3', phase: 'ok' } },
      50: { file: 'a', line: invoke('a.4', 50) },
      55: { file: 'a', line: { op: 'a.4', phase: 'unknown' } },
      56: { file: 'a', line: repeat('a.5', 'a.4') },
      60: { file: 'a', line: { op: 'a.5', phase: 'unknown' } },
      70: { file: 'b', line: invoke('b.1', 70) },
    });
    expect(load).toMatchObject({ during: 'calm', requests: 3, repeated: 2, failed: 2, maxMs: 40, longestGapMs: 0 });
  });

  it('says nothing of other clients', async () => {
    expect(await loadsOf({ 0: { file: 'a', line: { op: 'a.1', phase: 'invoke' } } })).toEqual([]);
  });
});

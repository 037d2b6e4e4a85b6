import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { RevisionGate } from './revision-gate.ts';

const signal = new AbortController().signal;

describe('the revision gate', () => {
  it('never goes back', () => {
    const gate = new RevisionGate(new ManualClock(), () => undefined);
    gate.advance(7);
    gate.advance(5);
    expect(gate.revision).toBe(7);
  });

  it('lets readers pass when their revision is reached, and not before', async () => {
    const clock = new ManualClock();
    let asked = 0;
    const gate = new RevisionGate(clock, () => asked++);
    const reached: string[] = [];
    void gate.reach(8, 1000, signal).then((is) => reached.push(`8 ${is}`));
    void gate.reach(9, 200, signal).then((is) => reached.push(`9 ${is}`));
    gate.advance(7);
    await clock.advance(20);
    expect(reached).toEqual([]);
    expect(asked).toBeGreaterThan(0);
    gate.advance(8);
    await clock.advance(20);
    expect(reached).toEqual(['8 true']);
    await clock.advance(200);
    expect(reached).toEqual(['8 true', '9 false']);
  });

  it('gives no reader up because this process did not run', async () => {
    const gate = new RevisionGate(systemClock, () => undefined);
    const reached = gate.reach(8, 200, signal);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    // Sockets are read after the timers.
    await new Promise<void>((resolve) => void systemClock.setTimer(0, resolve));
    gate.advance(8);
    expect(await reached).toBe(true);
  });
});

import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { FreshnessGate } from './freshness-gate.ts';

/** Returns a gate whose reads the test completes. */
function gateWithReads() {
  const clock = new ManualClock();
  const reads: PromiseWithResolvers<void>[] = [];
  const gate = new FreshnessGate(clock, (signal) => {
    const read = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => read.reject(signal.reason), { once: true });
    reads.push(read);
    return read.promise;
  });
  return { clock, reads, gate };
}

describe('the freshness gate', () => {
  it('opens by one read for all waiting callers, and stays open', async () => {
    const { reads, gate } = gateWithReads();
    const { signal } = new AbortController();
    const both = Promise.all([gate.pass(signal), gate.pass(signal)]);
    reads[0]?.resolve();
    await both;
    await gate.pass(signal);
    expect(reads).toHaveLength(1);
  });

  it('reads again for the waiting callers when the first one is aborted', async () => {
    const { reads, gate } = gateWithReads();
    const first = new AbortController();
    const leaving = gate.pass(first.signal);
    const staying = gate.pass(new AbortController().signal);
    first.abort('pod deleted');
    await expect(leaving).rejects.toBe('pod deleted');
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.resolve();
    await staying;
  });

  it('rejects an aborted caller while another one reads', async () => {
    const { reads, gate } = gateWithReads();
    const asking = gate.pass(new AbortController().signal);
    const waiting = new AbortController();
    const leaving = gate.pass(waiting.signal);
    waiting.abort('pod deleted');
    await expect(leaving).rejects.toBe('pod deleted');
    reads[0]?.resolve();
    await asking;
  });

  it('rejects all waiting callers when the read fails', async () => {
    const { reads, gate } = gateWithReads();
    const { signal } = new AbortController();
    const both = Promise.allSettled([gate.pass(signal), gate.pass(signal)]);
    reads[0]?.reject('unavailable');
    expect(await both).toEqual([
      { status: 'rejected', reason: 'unavailable' },
      { status: 'rejected', reason: 'unavailable' },
    ]);
  });

  it('closes after a gap in its own time', async () => {
    const { clock, reads, gate } = gateWithReads();
    const { signal } = new AbortController();
    const opening = gate.pass(signal);
    reads[0]?.resolve();
    await opening;
    await clock.advance(3_001);
    const passing = gate.pass(signal);
    expect(reads).toHaveLength(2);
    reads[1]?.resolve();
    await passing;
  });

  it('stays closed when the process was frozen while it read: the response is old', async () => {
    const { clock, reads, gate } = gateWithReads();
    const opened: string[] = [];
    const passing = gate.pass(new AbortController().signal).then(() => opened.push('opened'));
    await clock.advance(3_001);
    reads[0]?.resolve();
    await expect.poll(() => reads.length).toBe(2);
    expect(opened).toEqual([]);
    reads[1]?.resolve();
    await passing;
  });

  it('closes by its own ticks too: a pass soon after the freeze comes too late to see the gap', async () => {
    const { clock, reads, gate } = gateWithReads();
    const stop = new AbortController();
    const opening = gate.pass(stop.signal);
    reads[0]?.resolve();
    await opening;
    await clock.advance(3_001);
    // This runs first after the freeze.
    const running = gate.run(stop.signal);
    await clock.advance(1_000);
    const passing = gate.pass(stop.signal);
    expect(reads).toHaveLength(2);
    reads[1]?.resolve();
    await passing;
    stop.abort();
    await running;
  });

  it('stays open while its ticks have no gap', async () => {
    const { clock, reads, gate } = gateWithReads();
    const stop = new AbortController();
    const running = gate.run(stop.signal);
    const opening = gate.pass(stop.signal);
    reads[0]?.resolve();
    await opening;
    await clock.advance(60_000);
    await gate.pass(stop.signal);
    expect(reads).toHaveLength(1);
    stop.abort();
    await running;
  });
});

describe('the freshness gate of a Lease', () => {
  it('is open only for the tenure in which its read began', async () => {
    const clock = new ManualClock();
    let tenure: number | undefined = 1;
    let reads = 0;
    const gate = new FreshnessGate(
      clock,
      async () => {
        reads += 1;
        // Lost and won again during the first read.
        if (reads === 1) tenure = 2;
      },
      () => tenure,
    );
    const { signal } = new AbortController();
    await gate.pass(signal);
    expect(reads).toBe(2);
    gate.mustBeOpen();
    tenure = undefined;
    expect(() => gate.mustBeOpen()).toThrow('may be outdated');
    // It was lost in between, so others may have acted.
    tenure = 3;
    expect(() => gate.mustBeOpen()).toThrow('may be outdated');
    await gate.pass(signal);
    expect(reads).toBe(3);
  });
});

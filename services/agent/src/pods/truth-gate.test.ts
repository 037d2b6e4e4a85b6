import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { TruthGate } from './truth-gate.ts';

/** A gate whose reads are answered by hand, in the order they were asked. */
function gateWithReads() {
  const clock = new ManualClock();
  const reads: PromiseWithResolvers<void>[] = [];
  const gate = new TruthGate(clock, (signal) => {
    const read = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => read.reject(signal.reason), { once: true });
    reads.push(read);
    return read.promise;
  });
  return { clock, reads, gate };
}

describe('the truth gate', () => {
  it('opens by one read for all who wait, and stays open', async () => {
    const { reads, gate } = gateWithReads();
    const { signal } = new AbortController();
    const both = Promise.all([gate.pass(signal), gate.pass(signal)]);
    reads[0]?.resolve();
    await both;
    await gate.pass(signal);
    expect(reads).toHaveLength(1);
  });

  it('asks again for those who still wait when whoever asked first gives up', async () => {
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

  it('lets go of one who gives up while another asks', async () => {
    const { reads, gate } = gateWithReads();
    const asking = gate.pass(new AbortController().signal);
    const waiting = new AbortController();
    const leaving = gate.pass(waiting.signal);
    waiting.abort('pod deleted');
    await expect(leaving).rejects.toBe('pod deleted');
    reads[0]?.resolve();
    await asking;
  });

  it('tells all who wait of a read that failed', async () => {
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
});

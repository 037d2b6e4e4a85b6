import { describe, expect, it } from 'vitest';
import { NO_PRESSURE, planPressure, type PressureState } from './plan.ts';
import { observe, type Observations, type SignalName } from './signals.ts';
import { parseThresholds, type ThresholdSettings } from './thresholds.ts';
import type { HostReading } from '../runtime/stats.ts';

const GI = 2 ** 30;
const MI = 2 ** 20;
const SECOND = 1000;
const MINUTE = 60_000;

/** A host with enough of everything. */
const PLENTY: HostReading = {
  memory: { availableBytes: 8 * GI, capacityBytes: 16 * GI },
  disk: { availableBytes: 50 * GI, capacityBytes: 100 * GI, freeInodes: 500, inodes: 1000 },
  processes: { available: 900, capacity: 1000 },
};
const left = (signal: SignalName, available: number): Observations =>
  new Map([...observe(PLENTY, { shares: 1, allocatableBytes: 16 * GI, podBytes: 0 }), [signal, of(signal, available)]]);
const of = (signal: SignalName, available: number) => ({
  available,
  capacity: signal.startsWith('mem') ? 16 * GI : 100 * GI,
});
const plenty = left('nodefs.available', 50 * GI);

function node(settings: Partial<ThresholdSettings>, transitionMs = 5 * MINUTE) {
  const config = {
    thresholds: parseThresholds({ hard: '', soft: '', softGracePeriod: '', minimumReclaim: '', ...settings }),
    transitionMs,
  };
  let state: PressureState = NO_PRESSURE;
  return (observations: Observations, at: number) => {
    state = planPressure(config, state, observations, at);
    return { due: state.due.map(({ signal }) => signal), pressures: state.pressures };
  };
}

describe('a synchronisation', () => {
  it('does nothing while there is plenty', () => {
    const look = node({ hard: 'memory.available<1Gi,nodefs.available<10%,nodefs.inodesFree<5%,pid.available<10%' });
    expect(look(plenty, 0)).toEqual({ due: [], pressures: [] });
  });

  it.each<{ signal: SignalName; hard: string; available: number; pressure: string }>([
    { signal: 'memory.available', hard: 'memory.available<1Gi', available: GI - 1, pressure: 'MemoryPressure' },
    { signal: 'nodefs.available', hard: 'nodefs.available<10%', available: 10 * GI - 1, pressure: 'DiskPressure' },
    { signal: 'nodefs.inodesFree', hard: 'nodefs.inodesFree<1k', available: 999, pressure: 'DiskPressure' },
    { signal: 'imagefs.available', hard: 'imagefs.available<15%', available: 15 * GI - 1, pressure: 'DiskPressure' },
    { signal: 'imagefs.inodesFree', hard: 'imagefs.inodesFree<1k', available: 999, pressure: 'DiskPressure' },
    { signal: 'pid.available', hard: 'pid.available<100', available: 99, pressure: 'PIDPressure' },
  ])('reclaims at once below a hard threshold of $signal, and shows $pressure', (test) => {
    const { signal, hard, available, pressure } = test;
    const look = node({ hard });
    expect(look(left(signal, available + 1), 0)).toEqual({ due: [], pressures: [] });
    expect(look(left(signal, available), SECOND)).toEqual({ due: [signal], pressures: [pressure] });
  });

  it('reclaims for a soft threshold only when it was met for its grace period, and shows the pressure at once', () => {
    const look = node({ soft: 'memory.available<2Gi', softGracePeriod: 'memory.available=2m' });
    const low = left('memory.available', GI);
    expect(look(low, 0)).toEqual({ due: [], pressures: ['MemoryPressure'] });
    expect(look(low, 2 * MINUTE - 1).due).toEqual([]);
    expect(look(low, 2 * MINUTE).due).toEqual(['memory.available']);
    expect(look(plenty, 3 * MINUTE).due).toEqual([]);
    // The period starts again.
    expect(look(low, 4 * MINUTE).due).toEqual([]);
  });

  it('shows a pressure until the transition period has passed', () => {
    const look = node({ hard: 'memory.available<1Gi' });
    expect(look(left('memory.available', 0), 0).pressures).toEqual(['MemoryPressure']);
    expect(look(plenty, 5 * MINUTE - 1)).toEqual({ due: [], pressures: ['MemoryPressure'] });
    expect(look(plenty, 5 * MINUTE).pressures).toEqual([]);
  });

  it('goes on until the minimum is reclaimed', () => {
    const look = node({ hard: 'memory.available<1Gi', minimumReclaim: 'memory.available=500Mi' });
    expect(look(left('memory.available', GI + 100 * MI), 0).due).toEqual([]);
    expect(look(left('memory.available', GI - 1), 1).due).toEqual(['memory.available']);
    expect(look(left('memory.available', GI + 499 * MI), 2).due).toEqual(['memory.available']);
    expect(look(left('memory.available', GI + 500 * MI), 3).due).toEqual([]);
    expect(look(left('memory.available', GI + 499 * MI), 4).due).toEqual([]);
  });

  it('reclaims memory before all else, and shows every pressure', () => {
    const look = node({ hard: 'nodefs.available<10%,pid.available<100,memory.available<1Gi' });
    const low = new Map([
      ...left('nodefs.available', 0),
      ...(['memory.available', 'pid.available'] as const).map((signal) => [signal, of(signal, 0)] as const),
    ]);
    expect(look(low, 0)).toEqual({
      due: ['memory.available', 'nodefs.available', 'pid.available'],
      pressures: ['MemoryPressure', 'DiskPressure', 'PIDPressure'],
    });
  });

  it('passes over what was not observed', () => {
    expect(node({ hard: 'memory.available<1Gi' })(new Map(), 0)).toEqual({ due: [], pressures: [] });
  });
});

describe('what a node observes', () => {
  it('is its share of the host, and what its own pods leave of its allocatable memory', () => {
    const seen = observe(PLENTY, { shares: 2, allocatableBytes: 8 * GI, podBytes: 3 * GI });
    expect(Object.fromEntries(seen)).toEqual({
      'memory.available': { available: 4 * GI, capacity: 8 * GI },
      'allocatableMemory.available': { available: 5 * GI, capacity: 8 * GI },
      'nodefs.available': { available: 25 * GI, capacity: 50 * GI },
      'nodefs.inodesFree': { available: 250, capacity: 500 },
      'imagefs.available': { available: 25 * GI, capacity: 50 * GI },
      'imagefs.inodesFree': { available: 250, capacity: 500 },
      'pid.available': { available: 450, capacity: 500 },
    });
  });

  it('is a shortage of its own where its pods use more than it has, however much the host has', () => {
    const look = node({ hard: 'memory.available<100Mi' });
    const seen = observe(PLENTY, { shares: 2, allocatableBytes: 2 * GI, podBytes: 3 * GI });
    expect(seen.get('allocatableMemory.available')).toEqual({ available: 0, capacity: 3 * GI });
    expect(look(seen, 0)).toEqual({ due: ['allocatableMemory.available'], pressures: ['MemoryPressure'] });
  });

  it('is no shortage of inodes where the file system makes them on demand', () => {
    const disk = { ...PLENTY.disk, freeInodes: 0, inodes: 0 };
    const seen = observe({ ...PLENTY, disk }, { shares: 2, allocatableBytes: GI, podBytes: 0 });
    expect(node({ hard: 'nodefs.inodesFree<5%' })(seen, 0).due).toEqual([]);
  });
});

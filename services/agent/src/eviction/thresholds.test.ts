import { describe, expect, it } from 'vitest';
import { amountOf, parseThresholds, type ThresholdSettings } from './thresholds.ts';

const NONE: ThresholdSettings = { hard: '', soft: '', softGracePeriod: '', minimumReclaim: '' };
const MI = 2 ** 20;
const GI = 2 ** 30;
const parse = (settings: Partial<ThresholdSettings>) => parseThresholds({ ...NONE, ...settings });

describe('thresholds', () => {
  it.each<{ name: string; settings: Partial<ThresholdSettings>; expected: readonly object[] }>([
    { name: 'without values', settings: {}, expected: [] },
    {
      name: 'of memory, which the allocatable memory has too when they are hard',
      settings: {
        hard: 'memory.available<150Mi',
        soft: 'memory.available<300Mi',
        softGracePeriod: 'memory.available=1m30s',
        minimumReclaim: 'memory.available=0',
      },
      expected: [
        { signal: 'memory.available', value: { amount: 150 * MI }, graceMs: 0, minReclaim: { amount: 0 } },
        { signal: 'memory.available', value: { amount: 300 * MI }, graceMs: 90_000, minReclaim: { amount: 0 } },
        { signal: 'allocatableMemory.available', value: { amount: 150 * MI }, graceMs: 0, minReclaim: { amount: 0 } },
      ],
    },
    {
      name: 'of disks, in percent',
      settings: {
        hard: ' imagefs.available<15% , nodefs.available<10.5%',
        soft: 'nodefs.available<20.5%',
        softGracePeriod: 'nodefs.available=30s,imagefs.available=2h',
        minimumReclaim: 'nodefs.available=5%',
      },
      expected: [
        { signal: 'imagefs.available', value: { fraction: 0.15 }, graceMs: 0 },
        { signal: 'nodefs.available', value: { fraction: 0.105 }, graceMs: 0, minReclaim: { fraction: 0.05 } },
        { signal: 'nodefs.available', value: { fraction: 0.205 }, graceMs: 30_000, minReclaim: { fraction: 0.05 } },
      ],
    },
    {
      name: 'of inodes and processes, in pieces',
      settings: { hard: 'nodefs.inodesFree<5%,imagefs.inodesFree<1k,pid.available<500' },
      expected: [
        { signal: 'nodefs.inodesFree', value: { fraction: 0.05 }, graceMs: 0 },
        { signal: 'imagefs.inodesFree', value: { amount: 1000 }, graceMs: 0 },
        { signal: 'pid.available', value: { amount: 500 }, graceMs: 0 },
      ],
    },
    {
      name: 'in percent with a bound',
      settings: { hard: 'nodefs.available<10%|2Gi' },
      expected: [{ signal: 'nodefs.available', value: { fraction: 0.1, amount: 2 * GI }, graceMs: 0 }],
    },
    { name: 'that are off at 0 %', settings: { hard: 'memory.available<0%,nodefs.available<0%' }, expected: [] },
    { name: 'that are off at 100 %', settings: { hard: 'memory.available<100%' }, expected: [] },
  ])('are read $name', ({ settings, expected }) => {
    expect(parse(settings)).toEqual(expected);
  });

  it.each<{ setting: keyof ThresholdSettings; text: string; message: string; others?: Partial<ThresholdSettings> }>([
    { setting: 'hard', text: 'mem.available<150Mi', message: 'unsupported eviction signal mem.available' },
    { setting: 'hard', text: 'allocatableMemory.available<1Gi', message: 'unsupported eviction signal' },
    { setting: 'hard', text: 'toString<1Gi', message: 'unsupported eviction signal toString' },
    { setting: 'hard', text: 'memory.available<-150Mi', message: 'must be positive' },
    { setting: 'hard', text: 'memory.available<0', message: 'must be positive' },
    { setting: 'hard', text: 'memory.available<-15%', message: 'is not a percentage' },
    { setting: 'hard', text: 'memory.available<150%', message: 'must be <= 100%' },
    { setting: 'hard', text: 'memory.available<10..5%', message: 'is not a percentage' },
    { setting: 'hard', text: 'memory.available<', message: 'is not SIGNAL<VALUE' },
    { setting: 'hard', text: 'memory.available', message: 'is not SIGNAL<VALUE' },
    { setting: 'hard', text: 'memory.available<1<2', message: 'is not SIGNAL<VALUE' },
    { setting: 'hard', text: 'memory.available<much', message: 'quantities must match' },
    { setting: 'hard', text: 'memory.available<1Gi|10%', message: 'is not a percentage' },
    { setting: 'hard', text: 'memory.available<10%|1Gi|2Gi', message: 'is not PERCENTAGE|QUANTITY' },
    { setting: 'hard', text: 'memory.available<10%|0', message: 'must be positive' },
    { setting: 'hard', text: 'memory.available<1Gi,memory.available<2Gi', message: 'given twice' },
    { setting: 'hard', text: 'memory.available<1Gi,other<2Gi', message: 'unsupported eviction signal other' },
    { setting: 'soft', text: 'memory.available<150Mi', message: 'grace period must be specified' },
    {
      setting: 'soft',
      text: 'memory.available<-150Mi',
      message: 'must be positive',
      others: { softGracePeriod: 'memory.available=1s' },
    },
    { setting: 'softGracePeriod', text: 'memory.available=-30s', message: 'grace period -30s must be positive' },
    { setting: 'softGracePeriod', text: 'memory.available=30mins', message: 'is not a duration' },
    { setting: 'softGracePeriod', text: 'mem.available=30s', message: 'unsupported eviction signal' },
    { setting: 'minimumReclaim', text: 'memory.available=-300Mi', message: 'negative' },
    { setting: 'minimumReclaim', text: 'mem.available=300Mi', message: 'unsupported eviction signal' },
    { setting: 'minimumReclaim', text: 'memory.available=', message: 'is not SIGNAL=VALUE' },
    { setting: 'minimumReclaim', text: 'memory.available=-15%', message: 'is not a percentage' },
    { setting: 'minimumReclaim', text: 'memory.available=0%', message: 'must be positive' },
    { setting: 'minimumReclaim', text: 'memory.available=10..5%', message: 'is not a percentage' },
  ])('are refused in $setting: $text', ({ setting, text, message, others }) => {
    expect(() => parse({ [setting]: text, ...others })).toThrow(
      expect.objectContaining({ setting, message: expect.stringContaining(message) as string }),
    );
  });

  it.each([
    { value: { fraction: 0.1 }, capacity: 100 * GI, amount: 10 * GI },
    { value: { amount: 5 }, capacity: 100, amount: 5 },
    { value: { fraction: 0.1, amount: 2 * GI }, capacity: 100 * GI, amount: 2 * GI },
    { value: { fraction: 0.1, amount: 2 * GI }, capacity: 10 * GI, amount: GI },
  ])('are $amount of $capacity by $value', ({ value, capacity, amount }) => {
    expect(amountOf(value, { available: 0, capacity })).toBe(amount);
  });
});

import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

const ids = (first: number, count: number, namespace = 'a') =>
  new Set(Array.from({ length: count }, (_, index) => `${namespace}/s${first + index}`));

describe('the slots of backends', () => {
  it('stay with their backends, and no two backends have the same one', () => {
    const slots = new Slots();
    const before = new Map(slots.assign(ids(0, 10), 0));
    const after = slots.assign(ids(5, 10), 0);
    expect(new Set(after.values()).size).toBe(10);
    for (const id of ids(5, 5)) expect(after.get(id)).toBe(before.get(id));
  });

  it('rest for ten minutes before another backend gets them', () => {
    const usedAt = (now: number): boolean => {
      const slots = new Slots();
      const [left = ''] = slots.assign(ids(0, 1), 0).values();
      slots.assign(new Set(), 0);
      return new Set(slots.assign(ids(100, 64), now).values()).has(left);
    };
    expect(usedAt(599_999)).toBe(false);
    expect(usedAt(600_000)).toBe(true);
  });

  it('rest no longer when a new process has begun', () => {
    const slots = new Slots();
    slots.assign(ids(0, 32), 0);
    slots.assign(new Set(), 0);
    slots.renewed();
    slots.assign(ids(100, 32), 1);
    expect(slots.size).toBe(64);
  });

  it('become twice as many as are needed, so that growth is rare', () => {
    const slots = new Slots();
    const sizes = new Set<number>();
    for (let count = 0; count <= 2000; count += 100) {
      slots.assign(new Set([...ids(0, count / 2), ...ids(0, count / 2, 'b')]), 0);
      sizes.add(slots.size);
    }
    expect([...sizes]).toEqual([64, 256, 1024, 4096]);
  });

  it('of one namespace are at most 1,000 with those that rest: its further backends wait, those of others do not', () => {
    const slots = new Slots();
    slots.assign(ids(0, 500), 0);
    slots.assign(ids(500, 500), 1);
    expect([slots.assign(ids(1000, 500), 2).size, slots.isShort]).toEqual([0, true]);
    const other = ids(0, 1, 'b');
    expect([...slots.assign(new Set([...ids(1000, 500), ...other]), 3).keys()]).toEqual([...other]);
    expect(slots.assign(ids(1000, 500), 600_000).size).toBe(0);
    expect([slots.assign(ids(1000, 500), 600_002).size, slots.isShort]).toEqual([500, false]);
  });

  it('are at most 8,192, whatever changes', () => {
    const slots = new Slots();
    for (let round = 0; round < 40; round++) slots.assign(ids(round * 400, 400, `n${round}`), round);
    expect([slots.size, slots.isShort]).toEqual([8192, true]);
  });
});

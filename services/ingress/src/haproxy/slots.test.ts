import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

const ids = (first: number, count: number) => new Set(Array.from({ length: count }, (_, index) => `s${first + index}`));

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
    for (let count = 0; count <= 5000; count += 100) {
      slots.assign(ids(0, count), 0);
      sizes.add(slots.size);
    }
    expect([...sizes]).toEqual([64, 256, 1024, 4096, 16_384]);
  });
});

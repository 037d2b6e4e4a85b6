import { describe, expect, it } from 'vitest';
import { questionPacket } from '../testing/ask.ts';
import { KeptResponses } from './kept-responses.ts';

const always = (text: string) => ({ count: 1, encode: () => Buffer.from(`--${text}`) });

describe('kept responses', () => {
  it('are at most so many, and the oldest one leaves', () => {
    const kept = new KeptResponses(2);
    kept.find(questionPacket('a'), 1);
    for (const name of ['a', 'b', 'c']) kept.keep(questionPacket(name), always(name));
    expect(kept.size).toBe(2);
    expect(kept.find(questionPacket('a'), 1)).toBeUndefined();
    expect(kept.find(questionPacket('c', { id: 0x2a2b }), 1)?.toString()).toBe('*+c');
  });

  it('take at most so many bytes, with what they are made of', () => {
    const kept = new KeptResponses(100, 6000);
    const rotation = (count: number) => ({ count, encode: () => Buffer.alloc(200) });
    kept.find(questionPacket('a'), 1);
    // Each entry takes 800 bytes for its orders and 1000 bytes for what they are made of.
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) kept.keep(questionPacket(name), rotation(4));
    expect(kept.size).toBe(3);
    expect(kept.find(questionPacket('c'), 1)).toBeUndefined();
    expect(kept.keep(questionPacket('g'), rotation(100))).toHaveLength(200);
    expect(kept.size).toBe(3);
    kept.find(questionPacket('a'), 2);
    for (const name of ['a', 'b', 'c']) kept.keep(questionPacket(name), rotation(4));
    expect(kept.size).toBe(3);
  });

  it('of an earlier state are gone', () => {
    const kept = new KeptResponses(2);
    kept.find(questionPacket('a'), 1);
    kept.keep(questionPacket('a'), always('a'));
    expect(kept.find(questionPacket('a'), 2)).toBeUndefined();
    expect(kept.size).toBe(0);
  });

  it('are not those to long packets, which only an attacker sends', () => {
    const kept = new KeptResponses(2);
    const long = Buffer.concat([questionPacket('a'), Buffer.alloc(300)]);
    kept.find(long, 1);
    expect(kept.keep(long, always('a'))).toHaveLength(3);
    expect(kept.size).toBe(0);
  });

  it('are encoded once for each order of addresses', () => {
    const kept = new KeptResponses(2);
    const encoded: number[] = [];
    const packet = questionPacket('a');
    kept.find(packet, 1);
    const encode = (index: number) => {
      encoded.push(index);
      return Buffer.from(`--${index}`);
    };
    const given = [kept.keep(packet, { count: 3, encode })];
    for (let i = 0; i < 5; i++) given.push(kept.find(packet, 1) ?? Buffer.alloc(0));
    expect(given.map((one) => one.toString('latin1', 2))).toEqual(['0', '1', '2', '0', '1', '2']);
    expect(encoded).toEqual([0, 1, 2]);
  });
});

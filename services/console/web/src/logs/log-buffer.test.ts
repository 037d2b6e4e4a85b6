import { describe, expect, it } from 'vitest';
import { LogBuffer, searchLines } from './log-buffer.ts';

const T = (second: number) => `2026-01-01T00:00:0${second}.000000000Z`;

describe('LogBuffer', () => {
  it('separates times from texts', () => {
    const buffer = new LogBuffer(10);
    buffer.add('a', [`${T(1)} one two`, `${T(2)} `, 'no time', T(3)]);
    expect(buffer.lines.map(({ time, text }) => [time, text])).toEqual([
      [T(1), 'one two'],
      [T(2), ''],
      ['', 'no time'],
      [T(3), ''],
    ]);
  });

  it('merges sources by time, and keeps the order of equal times', () => {
    const buffer = new LogBuffer(10);
    buffer.add('a', [`${T(1)} a1`, `${T(3)} a2`]);
    buffer.add('b', [`${T(2)} b1`, `${T(3)} b2`]);
    expect(buffer.lines.map(({ text }) => text)).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  it('forgets the oldest lines, and counts them', () => {
    const buffer = new LogBuffer(2);
    buffer.add('a', [`${T(1)} 1`, `${T(2)} 2`, `${T(3)} 3`]);
    expect(buffer.lines.map(({ text }) => text)).toEqual(['2', '3']);
    expect(buffer.forgotten).toBe(1);
  });
});

describe('searchLines', () => {
  it('finds texts and sources, whatever the case', () => {
    const buffer = new LogBuffer(10);
    buffer.add('web-1', [`${T(1)} Error: x`]);
    buffer.add('db-1', [`${T(2)} fine`]);
    expect(searchLines(buffer.lines, 'error').map(({ source }) => source)).toEqual(['web-1']);
    expect(searchLines(buffer.lines, 'DB-1')).toHaveLength(1);
    expect(searchLines(buffer.lines, '')).toBe(buffer.lines);
  });
});

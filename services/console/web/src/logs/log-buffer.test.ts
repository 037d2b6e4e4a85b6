import { describe, expect, it } from 'vitest';
import { follows, LineCutter, LogBuffer, searchLines } from './log-buffer.ts';

const T = (second: number) => `2026-01-01T00:00:0${second}.000000000Z`;

describe('LogBuffer', () => {
  it('separates times from texts', () => {
    const buffer = new LogBuffer(10, 1000);
    buffer.add('a', [`${T(1)} one two`, `${T(2)} `, 'no time', T(3)]);
    expect(buffer.lines.map(({ time, text }) => [time, text])).toEqual([
      [T(1), 'one two'],
      [T(2), ''],
      ['', 'no time'],
      [T(3), ''],
    ]);
  });

  it('merges sources by time, and keeps the order of equal times', () => {
    const buffer = new LogBuffer(10, 1000);
    buffer.add('a', [`${T(1)} a1`, `${T(3)} a2`]);
    buffer.add('b', [`${T(2)} b1`, `${T(3)} b2`]);
    expect(buffer.lines.map(({ text }) => text)).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  it('forgets the oldest lines, and counts them', () => {
    const buffer = new LogBuffer(2, 1000);
    buffer.add('a', [`${T(1)} 1`, `${T(2)} 2`, `${T(3)} 3`]);
    expect(buffer.lines.map(({ text }) => text)).toEqual(['2', '3']);
    expect(buffer.forgotten).toBe(1);
  });

  it('forgets the oldest lines also when few lines are long, before anybody reads them', () => {
    const buffer = new LogBuffer(100, 250);
    for (let second = 1; second < 9; second++) buffer.add('a', [`${T(second)} ${String(second).repeat(100)}`]);
    expect(buffer.lines.map(({ text }) => text[0])).toEqual(['7', '8']);
    expect(buffer.forgotten).toBe(6);
    buffer.add('a', [`${T(9)} ${'9'.repeat(300)}`]);
    expect(buffer.lines).toEqual([]);
  });
});

describe('LineCutter', () => {
  it('returns lines when they end, and the last one at the end', () => {
    const cutter = new LineCutter();
    expect([cutter.push('a\nb'), cutter.push(''), cutter.push('c\n\nd'), cutter.end(), cutter.end()]).toEqual([
      ['a'],
      [],
      ['bc', ''],
      ['d'],
      [],
    ]);
  });

  it('keeps the beginning of a line of any length, and goes on with the next one', () => {
    const cutter = new LineCutter();
    const shown = `${'x'.repeat(10_000)} … (cut after 10000 characters)`;
    const lines = Array.from({ length: 50 }, () => cutter.push('x'.repeat(7_000))).flat();
    expect(lines).toEqual([shown]);
    expect(cutter.push('x\nnext\n')).toEqual(['next']);
    expect(cutter.push(`${'x'.repeat(1_000_000)}\n${'y'.repeat(10_000)}\n`)).toEqual([shown, 'y'.repeat(10_000)]);
    expect(cutter.end()).toEqual([]);
  });
});

describe('searchLines', () => {
  it('finds texts and sources, whatever the case', () => {
    const buffer = new LogBuffer(10, 1000);
    buffer.add('web-1', [`${T(1)} Error: x`]);
    buffer.add('db-1', [`${T(2)} fine`]);
    expect(searchLines(buffer.lines, 'error').map(({ source }) => source)).toEqual(['web-1']);
    expect(searchLines(buffer.lines, 'DB-1')).toHaveLength(1);
    expect(searchLines(buffer.lines, '')).toBe(buffer.lines);
  });
});

describe('follows', () => {
  it('goes on when lines have come between a movement to the end and its event', () =>
    expect(follows(true, { byPx: 2000, toEndPx: 400 })).toBe(true));

  it('ends when somebody scrolls up, and begins at the end', () => {
    expect(follows(true, { byPx: -100, toEndPx: 100 })).toBe(false);
    expect(follows(false, { byPx: 50, toEndPx: 400 })).toBe(false);
    expect(follows(false, { byPx: 50, toEndPx: 10 })).toBe(true);
    expect(follows(true, { byPx: -5, toEndPx: 5 })).toBe(true);
  });
});

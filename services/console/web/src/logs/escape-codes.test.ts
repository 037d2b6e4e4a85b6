import { describe, expect, it } from 'vitest';
import { segmentsOf } from './escape-codes.ts';

const ESC = '\u001b';
const plainText = (line: string) =>
  segmentsOf(line)
    .map(({ text }) => text)
    .join('');

describe('segmentsOf', () => {
  it('makes styles of colours and weight', () => {
    expect(segmentsOf(`a ${ESC}[1;31mred${ESC}[0m b`)).toEqual([
      { text: 'a ', style: '' },
      { text: 'red', style: 'bold red' },
      { text: ' b', style: '' },
    ]);
    expect(segmentsOf(`${ESC}[92mx${ESC}[39my`)).toEqual([
      { text: 'x', style: 'green' },
      { text: 'y', style: '' },
    ]);
  });

  it('does not take parameters of colours for codes', () => {
    expect(segmentsOf(`${ESC}[38;5;1mx`)).toEqual([{ text: 'x', style: '' }]);
    expect(segmentsOf(`${ESC}[48;2;1;31;1;32mx`)).toEqual([{ text: 'x', style: 'green' }]);
  });

  it.each([
    ['moves of the cursor', `${ESC}[2J${ESC}[1;1Hx`],
    ['titles', `${ESC}]0;title\u0007x`],
    ['links', `${ESC}]8;;https://evil.example${ESC}\\x${ESC}]8;;${ESC}\\`],
    ['the clipboard', `${ESC}]52;c;aGk=\u0007x`],
    ['device strings', `${ESC}Pq#0${ESC}\\x`],
    ['C1 forms', `\u009b31mx\u009d0;t\u0007`],
    ['backspaces and carriage returns', 'x\b\r'],
    ['changes of direction', '\u202ex\u202c'],
    ['a sequence that is cut off', `x${ESC}[3`],
    ['a title that is cut off', `x${ESC}]0;ti`],
    ['a lone escape', `x${ESC}`],
  ])('removes %s', (_what, line) => expect(plainText(line)).toBe('x'));

  it('leaves markup as it is: it is text', () => {
    expect(plainText('<img src=x onerror=alert(1)>\t&amp;')).toBe('<img src=x onerror=alert(1)>\t&amp;');
  });

  it('makes few elements of a line, whatever its looks', () => {
    const line = Array.from({ length: 2000 }, (_, i) => `${ESC}[${31 + (i % 2)}m.`).join('');
    const segments = segmentsOf(line);
    expect([segments.length, plainText(line)]).toEqual([100, '.'.repeat(2000)]);
    expect(segmentsOf(`a${ESC}[0mb${ESC}[2Jc`)).toEqual([{ text: 'abc', style: '' }]);
  });
});

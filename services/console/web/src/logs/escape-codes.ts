/** A part of a line with the same looks. `style` has names of classes: `bold`, `red`, … */
export interface Segment {
  readonly text: string;
  readonly style: string;
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

/** Parts of a line with different looks: each is an element of the document. The last one has the rest of the line. */
const MAX_SEGMENTS = 100;

/**
 * Control sequences: CSI (`ESC [ … letter`), OSC and other strings until their end (BEL or ESC \), other two-character escapes, and their
 * one-character forms of C1. A sequence that is cut off, by the end of the line or by something else, goes, too: no part of the pattern has to
 * match, so a match takes time that is linear in the length of the line.
 */
const SEQUENCE =
  /(?:\u001b\[|\u009b)([0-9;:?<=>]*)[ -/]*([@-~])?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;
/** Other characters that a terminal would act on, and those that turn the direction of text and so hide what it says. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** A log line without anything that acts: colours and weight become styles, all other control sequences disappear. */
export function segmentsOf(line: string): readonly Segment[] {
  if (!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(line))
    return [{ text: line, style: '' }];
  const out: Segment[] = [];
  const looks: Looks = { bold: false, colour: '' };
  let end = 0;
  const add = (text: string) => {
    const clean = text.replaceAll(CONTROL, '');
    if (clean === '') return;
    const style = [looks.bold ? 'bold' : '', looks.colour].filter(Boolean).join(' ');
    const last = out.at(-1);
    if (last !== undefined && (last.style === style || out.length >= MAX_SEGMENTS))
      out[out.length - 1] = { text: last.text + clean, style: last.style };
    else out.push({ text: clean, style });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    add(line.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[2] === 'm') applyCodes(looks, match[1] ?? '');
  }
  add(line.slice(end));
  return out;
}

interface Looks {
  bold: boolean;
  colour: string;
}

function applyCodes(looks: Looks, codes: string): void {
  const numbers = codes.split(';').map(Number);
  for (let i = 0; i < numbers.length; i++) {
    const code = numbers[i] ?? 0;
    // Colours by number or by value have parameters, which are no codes.
    if (code === 38 || code === 48) i += numbers[i + 1] === 2 ? 4 : 2;
    else if (code === 0) Object.assign(looks, { bold: false, colour: '' });
    else if (code === 1) looks.bold = true;
    else if (code === 22) looks.bold = false;
    else if (code === 39) looks.colour = '';
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) looks.colour = COLOURS[code % 10] ?? '';
  }
}

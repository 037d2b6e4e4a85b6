/** A line of a log. */
export interface LogLine {
  /** Grows by one with each line that was added. */
  readonly id: number;
  /** The pod, or pod and container, that wrote it. */
  readonly source: string;
  /** RFC 3339 with nanoseconds; '' without one. */
  readonly time: string;
  readonly text: string;
}

/** Characters of a line that are kept. */
const MAX_LINE = 10_000;
const CUT = ` … (cut after ${MAX_LINE} characters)`;

/** Cuts a stream of text into lines. The text between two ends of lines may have any length: only its beginning is kept. */
export class LineCutter {
  #rest = '';
  /** Whether the beginning of the current line has been returned, and what follows is left out. */
  #isCut = false;

  /** The lines that end in this text, and one that has become too long. */
  push(text: string): readonly string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#append(text, start, end, lines);
      if (!this.#isCut) lines.push(this.#rest);
      this.#rest = '';
      this.#isCut = false;
      start = end + 1;
    }
    this.#append(text, start, text.length, lines);
    return lines;
  }

  /** The last line, which has no end; none when the text ended with one. */
  end(): readonly string[] {
    const lines = this.#rest === '' ? [] : [this.#rest];
    this.#rest = '';
    return lines;
  }

  #append(text: string, start: number, end: number, lines: string[]): void {
    if (this.#isCut || start === end) return;
    this.#rest += text.slice(start, Math.min(end, start + MAX_LINE + 1));
    if (this.#rest.length <= MAX_LINE) return;
    lines.push(this.#rest.slice(0, MAX_LINE) + CUT);
    this.#rest = '';
    this.#isCut = true;
  }
}

/** Lines that wait until somebody reads, at most: a hidden page does not read. */
const MAX_PENDING = 10_000;

/** The latest lines of several sources, in the order of their times. */
export class LogBuffer {
  readonly #max: number;
  readonly #maxCharacters: number;
  #lines: LogLine[] = [];
  #characters = 0;
  /** Lines that are not in `#lines` yet: copying all of these for each message of a log would take quadratic time. */
  #pending: LogLine[] = [];
  #pendingCharacters = 0;
  #added = 0;

  /** Keeps up to `max` lines of up to `maxCharacters` together. */
  constructor(max: number, maxCharacters: number) {
    this.#max = max;
    this.#maxCharacters = maxCharacters;
  }

  /** All lines; a new array after each change. */
  get lines(): readonly LogLine[] {
    this.#settle();
    return this.#lines;
  }

  /** How many lines were forgotten. */
  get forgotten(): number {
    return this.#added - this.lines.length;
  }

  /** Adds lines of one source, each with its time before it, as `timestamps=true` sends them. */
  add(source: string, lines: readonly string[]): void {
    for (const line of lines) {
      this.#pending.push({ id: this.#added++, source, ...splitTime(line) });
      this.#pendingCharacters += line.length;
      if (this.#pending.length >= MAX_PENDING || this.#pendingCharacters > this.#maxCharacters) this.#settle();
    }
  }

  #settle(): void {
    if (this.#pending.length === 0) return;
    const next = this.#lines.concat(this.#pending);
    if (isOutOfOrder(next, this.#lines.length)) next.sort(byTime);
    let characters = this.#characters + this.#pending.reduce((sum, { text }) => sum + text.length, 0);
    let from = 0;
    for (; next.length - from > this.#max || characters > this.#maxCharacters; from++)
      characters -= next[from]?.text.length ?? 0;
    this.#lines = from === 0 ? next : next.slice(from);
    this.#characters = characters;
    this.#pending = [];
    this.#pendingCharacters = 0;
  }
}

/** The time that begins a line of a log, and its text; '' for a line without one, such as an error of the server. */
export function splitTime(line: string): { readonly time: string; readonly text: string } {
  const space = line.indexOf(' ');
  const time = space < 0 ? line : line.slice(0, space);
  return /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(time)
    ? { time, text: space < 0 ? '' : line.slice(space + 1) }
    : { time: '', text: line };
}

/** Lines of several sources arrive out of order by seconds at most: usually there is nothing to sort. */
function isOutOfOrder(lines: readonly LogLine[], from: number): boolean {
  for (let i = Math.max(1, from); i < lines.length; i++)
    if ((lines[i]?.time ?? '') < (lines[i - 1]?.time ?? '') && lines[i]?.time !== '') return true;
  return false;
}

function byTime(a: LogLine, b: LogLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : a.id - b.id;
}

/** Two lines: what is nearer to the end is at it. */
const AT_END_PX = 40;

/**
 * Whether a view follows the end after it has moved by `byPx`, less than 0 for up, and is `toEndPx` away from the end: it does at the end, and
 * goes on doing so until somebody scrolls up. Between a movement to the end and its event lines may have come, so the distance says nothing.
 */
export function follows(
  isFollowing: boolean,
  { byPx, toEndPx }: { readonly byPx: number; readonly toEndPx: number },
): boolean {
  return toEndPx < AT_END_PX || (isFollowing && byPx >= 0);
}

/** The lines that contain a text, whatever its case. */
export function searchLines(lines: readonly LogLine[], text: string): readonly LogLine[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return lines;
  return lines.filter((line) => line.text.toLowerCase().includes(wanted) || line.source.toLowerCase().includes(wanted));
}

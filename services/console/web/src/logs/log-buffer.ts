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

/** The latest lines of several sources, in the order of their times. */
export class LogBuffer {
  readonly #max: number;
  #lines: LogLine[] = [];
  #added = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** All lines; a new array after each change. */
  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** How many lines were forgotten. */
  get forgotten(): number {
    return this.#added - this.#lines.length;
  }

  /** Adds lines of one source, each with its time before it, as `timestamps=true` sends them. */
  add(source: string, lines: readonly string[]): void {
    if (lines.length === 0) return;
    const next = this.#lines.concat(lines.map((line) => ({ id: this.#added++, source, ...splitTime(line) })));
    if (isOutOfOrder(next, this.#lines.length)) next.sort(byTime);
    this.#lines = next.length > this.#max ? next.slice(next.length - this.#max) : next;
  }
}

function splitTime(line: string): { readonly time: string; readonly text: string } {
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

/** The lines that contain a text, whatever its case. */
export function searchLines(lines: readonly LogLine[], text: string): readonly LogLine[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return lines;
  return lines.filter((line) => line.text.toLowerCase().includes(wanted) || line.source.toLowerCase().includes(wanted));
}

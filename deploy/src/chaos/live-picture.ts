import { stripVTControlCharacters } from 'node:util';
import type { Clock } from '@gantry/base';
import type { Screen } from './show-live.ts';

/** What stood on the screen since when. */
export interface Frame {
  readonly atMs: number;
  readonly lines: readonly string[];
}

/** Frames before and after the first one that shows a fault; the view is drawn twice a second. */
const [BEFORE, AFTER] = [6, 50];
/** How the view begins when a fault has begun. */
const FIRST_FAULT = /^chaos .* fault [1-9]/;
const HOME = '\x1b[H';

/** A screen that keeps what the live view draws around the first fault. All else goes to `write`. */
export class RecordingScreen implements Screen {
  readonly columns = 116;
  readonly rows = 26;
  readonly #clock: Clock;
  readonly #write: (text: string) => void;
  #frames: Frame[] = [];
  #after = 0;

  constructor(clock: Clock, write: (text: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  get frames(): readonly Frame[] {
    return this.#frames;
  }

  write(text: string): void {
    if (!text.startsWith(HOME)) {
      this.#write(stripVTControlCharacters(text));
      return;
    }
    if (this.#after === AFTER) return;
    const lines = text
      .slice(HOME.length)
      .split('\r\n')
      .map((line) => stripVTControlCharacters(line));
    this.#frames.push({ atMs: this.#clock.monotonicMs(), lines });
    if (this.#after > 0 || FIRST_FAULT.test(lines[0] ?? '')) this.#after++;
    else this.#frames = this.#frames.slice(-BEFORE);
  }
}

const [CHARACTER, LINE, MARGIN] = [7.25, 16, 12];
const LAST_FRAME_MS = 4_000;
/** Spaces that no viewer joins. */
const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll(' ', '&#160;');

/** An SVG that plays the frames again and again. Without animations, it shows the last one. */
export function framesToSvg(frames: readonly Frame[], { columns, rows }: Pick<Screen, 'columns' | 'rows'>): string {
  const [width, height] = [columns * CHARACTER + 2 * MARGIN, rows * LINE + 2 * MARGIN];
  const [firstMs, lastMs] = [frames[0]?.atMs ?? 0, frames.at(-1)?.atMs ?? 0];
  const seconds = (ms: number) => (ms / 1000).toFixed(2);
  const totalMs = lastMs - firstMs + LAST_FRAME_MS;
  const drawn = frames.map(({ atMs, lines }, index) => {
    const endMs = (frames[index + 1]?.atMs ?? firstMs + totalMs) - firstMs;
    const texts = lines.flatMap((line, row) =>
      line === '' ? [] : [`<text x="${MARGIN}" y="${MARGIN + (row + 0.8) * LINE}">${escape(line)}</text>`],
    );
    const play =
      `<animate attributeName="visibility" calcMode="discrete" dur="${seconds(totalMs)}s" repeatCount="indefinite" ` +
      `values="hidden;visible;hidden" keyTimes="0;${((atMs - firstMs) / totalMs).toFixed(5)};${Math.min(1, endMs / totalMs).toFixed(5)}"/>`;
    const isLast = index === frames.length - 1;
    return `<g visibility="${isLast ? 'visible' : 'hidden'}">${play}${texts.join('')}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="12" fill="#e6e6e6">`,
    `<rect width="${width}" height="${height}" rx="6" fill="#1d1f21"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

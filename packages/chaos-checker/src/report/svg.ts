import { html, type Html } from './html.ts';
import type { Span } from './summary.ts';

interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Line {
  readonly name: string;
  readonly color: string;
  /** It is interrupted between two of them. */
  readonly stretches: readonly (readonly Point[])[];
}

export interface Point {
  readonly atMs: number;
  readonly value: number;
}

const WIDTH = 1100;
const LABELS = 170;
const ROW = 22;
const CHART = 200;

/** A row for each kind of span, with a bar for each span. The label is shown where the pointer rests. */
export function timeLine(spans: readonly Span[], window: Window, color: string): Html {
  const rows = [...new Set(spans.map(({ row }) => row))];
  const height = rows.length * ROW + 25;
  const names = rows.map((row, index) => html`<text x="0" y="${index * ROW + 15}" font-size="12">${row}</text>`);
  const bars = spans.map(({ row, label, fromMs, untilMs }) => {
    const x = place(fromMs, window);
    const width = Math.max(2, place(untilMs, window) - x);
    const y = rows.indexOf(row) * ROW + 3;
    const title = `${label}: ${time(fromMs)} to ${time(untilMs)}`;
    return html`<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 6}" fill="${color}" fill-opacity="0.7" stroke="#fff"><title>${title}</title></rect>`;
  });
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img">${names}${bars}${axis(window, rows.length * ROW)}</svg>`;
}

/** Lines over time, on a logarithmic scale from 1. */
export function lineChart(lines: readonly Line[], window: Window): Html {
  const top = Math.max(10, ...lines.flatMap(({ stretches }) => stretches.flat().map(({ value }) => value)));
  const yOf = (value: number) => CHART - (CHART - 15) * (Math.log10(Math.max(1, value)) / Math.log10(top));
  const paths = lines.flatMap(({ stretches, color }) =>
    stretches.map((points) => {
      const at = points.map(({ atMs, value }) => `${place(atMs, window).toFixed(1)},${yOf(value).toFixed(1)}`);
      return html`<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${at.join(' ')}"/>`;
    }),
  );
  const names = lines.map(
    ({ name, color }, index) => html`<text x="0" y="${100 + index * 18}" font-size="12" fill="${color}">${name}</text>`,
  );
  const powers = Array.from({ length: Math.floor(Math.log10(top)) + 1 }, (_, power) => 10 ** power);
  const grid = powers.map(
    (value) =>
      html`<line x1="${LABELS}" x2="${WIDTH}" y1="${yOf(value)}" y2="${yOf(value)}" stroke="#ddd"/><text x="${LABELS - 5}" y="${yOf(value) + 4}" font-size="11" text-anchor="end">${value}</text>`,
  );
  return html`<svg viewBox="0 0 ${WIDTH} ${CHART + 25}" role="img">${grid}${names}${paths}${axis(window, CHART)}</svg>`;
}

function axis(window: Window, y: number): Html {
  const marks = Array.from(
    { length: 11 },
    (_, tenth) => window.fromMs + ((window.untilMs - window.fromMs) * tenth) / 10,
  );
  return html`${marks.map((atMs, index) => {
    const anchor = index === 10 ? 'end' : 'middle';
    return html`<text x="${place(atMs, window).toFixed(1)}" y="${y + 18}" font-size="11" text-anchor="${anchor}">${time(atMs)}</text>`;
  })}`;
}

function place(atMs: number, { fromMs, untilMs }: Window): number {
  const share = (atMs - fromMs) / Math.max(1, untilMs - fromMs);
  return LABELS + (WIDTH - LABELS) * Math.min(1, Math.max(0, share));
}

function time(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

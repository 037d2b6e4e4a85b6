const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A duration as kubectl writes ages (`duration.HumanDuration`): `45s`, `3m20s`, `25m`, `5h12m`, `2d3h`, `41d`, `2y10d`. */
export function formatAge(ms: number): string {
  if (!Number.isFinite(ms)) return '';
  const past = Math.max(0, ms);
  if (past < 2 * MINUTE) return `${Math.floor(past / SECOND)}s`;
  if (past < 10 * MINUTE) return two(past, MINUTE, 'm', SECOND, 's');
  if (past < 3 * HOUR) return `${Math.floor(past / MINUTE)}m`;
  if (past < 8 * HOUR) return two(past, HOUR, 'h', MINUTE, 'm');
  if (past < 2 * DAY) return `${Math.floor(past / HOUR)}h`;
  if (past < 8 * DAY) return two(past, DAY, 'd', HOUR, 'h');
  if (past < 2 * YEAR) return `${Math.floor(past / DAY)}d`;
  if (past < 8 * YEAR) return two(past, YEAR, 'y', DAY, 'd');
  return `${Math.floor(past / YEAR)}y`;
}

function two(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  const whole = `${Math.floor(ms / large)}${largeUnit}`;
  return rest === 0 ? whole : `${whole}${rest}${smallUnit}`;
}

const UNITS: Readonly<Record<string, number>> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY, y: YEAR };

/** Inverse of `formatAge`; undefined for other text. */
export function parseAge(text: string): number | undefined {
  if (!/^(?:\d+[smhdy])+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdy])/g)) ms += Number(count) * (UNITS[unit ?? ''] ?? 0);
  return ms;
}

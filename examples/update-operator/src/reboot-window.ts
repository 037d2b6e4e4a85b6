const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1970-01-01 was a Thursday. */
const DAYS = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'];

/** A time of each day or week in which reboots may begin, in UTC. */
export interface RebootWindow {
  readonly startMs: number;
  readonly lengthMs: number;
  readonly periodMs: number;
}

/** Thrown for a window that cannot be used; the message names the field. */
export class WindowError extends Error {
  override readonly name = 'WindowError';
}

/** Reads a start such as `14:00` or `Thu 23:00`, and a length such as `1h30m`. Throws WindowError. */
export function parseWindow(start: string, length: string): RebootWindow {
  const [, day, hours, minutes] = /^(?:([A-Z][a-z]{2}) )?([01]?\d|2[0-3]):([0-5]\d)$/.exec(start) ?? [];
  const dayIndex = day === undefined ? 0 : DAYS.indexOf(day);
  if (hours === undefined || dayIndex < 0) {
    throw new WindowError(`reboot-window-start: ${JSON.stringify(start)} is not like "14:00" or "Thu 23:00"`);
  }
  const [, ofHours = 0, ofMinutes = 0] = /^(?=\d)(?:(\d{1,3})h)?(?:(\d{1,5})m)?$/.exec(length) ?? [];
  const lengthMs = (Number(ofHours) * 60 + Number(ofMinutes)) * MINUTE_MS;
  if (lengthMs === 0) {
    throw new WindowError(`reboot-window-length: ${JSON.stringify(length)} is not like "1h30m"`);
  }
  const periodMs = day === undefined ? DAY_MS : WEEK_MS;
  if (lengthMs > periodMs) throw new WindowError(`reboot-window-length: ${length} is longer than the window's period`);
  return { startMs: dayIndex * DAY_MS + (Number(hours) * 60 + Number(minutes)) * MINUTE_MS, lengthMs, periodMs };
}

/** Whether reboots may begin at `now`, and when that changes, both in milliseconds since 1970. Without a window, always. */
export function windowAt(
  window: RebootWindow | undefined,
  now: number,
): { readonly isOpen: boolean; readonly changesAt: number | undefined } {
  if (window === undefined) return { isOpen: true, changesAt: undefined };
  const { startMs, lengthMs, periodMs } = window;
  const since = (((now - startMs) % periodMs) + periodMs) % periodMs;
  const isOpen = since < lengthMs;
  if (isOpen && lengthMs === periodMs) return { isOpen, changesAt: undefined };
  return { isOpen, changesAt: now - since + (isOpen ? lengthMs : periodMs) };
}

/** Cron schedules: five fields, or a name such as `@daily`. */

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const FIELDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  {
    min: 1,
    max: 12,
    names: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];
const DESCRIPTORS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const EVERY = '@every ';
const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const ZONE_PREFIX = /^(?:TZ|CRON_TZ)=/;

/** What is wrong with a schedule, in the words of the parser that Kubernetes uses; undefined when nothing is. */
export function scheduleFault(schedule: string): string | undefined {
  let text = schedule;
  if (ZONE_PREFIX.test(text)) {
    const space = text.indexOf(' ');
    if (space < 0) return `schedule has no fields after its time zone: ${text}`;
    const zone = text.slice(text.indexOf('=') + 1, space);
    const fault = timeZoneFault(zone);
    if (fault !== undefined) return `provided bad location ${zone}: ${fault}`;
    text = text.slice(space).trim();
  }
  if (text === '') return 'empty spec string';
  if (text.startsWith('@')) return descriptorFault(text);
  const fields = text.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== FIELDS.length) {
    return `expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(' ')}]`;
  }
  for (const [i, bounds] of FIELDS.entries()) {
    for (const range of (fields[i] ?? '').split(',').filter((part) => part !== '')) {
      const fault = rangeFault(range, bounds);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

/** What is wrong with the name of a time zone. The names are those of the runtime's own data. */
export function timeZoneFault(zone: string): string | undefined {
  if (zone === '' || zone === 'UTC' || zone === 'Local') return undefined;
  try {
    // The runtime accepts offsets (`+02:00`), which are not names of zones.
    if (/^[+-]/.test(zone)) return `unknown time zone ${zone}`;
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return undefined;
  } catch {
    return `unknown time zone ${zone}`;
  }
}

function descriptorFault(text: string): string | undefined {
  if (DESCRIPTORS.includes(text)) return undefined;
  if (!text.startsWith(EVERY)) return `unrecognized descriptor: ${text}`;
  const duration = text.slice(EVERY.length);
  return DURATION.test(duration)
    ? undefined
    : `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`;
}

function rangeFault(text: string, bounds: Bounds): string | undefined {
  const [range = '', step, ...slashes] = text.split('/');
  const [low = '', high, ...hyphens] = range.split('-');
  let first = bounds.min;
  let last = bounds.max;
  if (low !== '*' && low !== '?') {
    const start = parse(low, bounds.names);
    if (typeof start === 'string') return start;
    first = start;
    last = start;
    if (hyphens.length > 0) return `too many hyphens: ${text}`;
    const end = high === undefined ? start : parse(high, bounds.names);
    if (typeof end === 'string') return end;
    last = end;
  }
  if (slashes.length > 0) return `too many slashes: ${text}`;
  const by = step === undefined ? 1 : parse(step, undefined);
  if (typeof by === 'string') return by;
  if (step !== undefined && high === undefined) last = bounds.max;
  if (first < bounds.min) return `beginning of range (${first}) below minimum (${bounds.min}): ${text}`;
  if (last > bounds.max) return `end of range (${last}) above maximum (${bounds.max}): ${text}`;
  if (first > last) return `beginning of range (${first}) beyond end of range (${last}): ${text}`;
  return by === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

/** A number or a name; a text is the complaint. */
function parse(text: string, names: readonly string[] | undefined): number | string {
  const named = text === '' ? -1 : (names ?? []).indexOf(text.toLowerCase());
  if (named >= 0) return named;
  if (!/^[+-]?\d+$/.test(text)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  }
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`;
  }
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}

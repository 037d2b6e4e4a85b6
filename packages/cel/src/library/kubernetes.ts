import { append } from '@gantry/base';
import {
  declareFunction as declare,
  type FunctionDeclaration,
  type Overload,
} from '../environment/function-declaration.ts';
import { ADDRESSES } from './addresses.ts';
import { FORMAT_FUNCTIONS } from './formats.ts';
import { LISTS } from './lists.ts';
import { OPTIONALS } from './optionals.ts';
import { QUANTITIES } from './quantities.ts';
import { STANDARD } from './standard.ts';
import { STRINGS } from './strings.ts';
import { URLS } from './urls.ts';
import { VERSIONS } from './versions.ts';
import { type CalendarFields, calendarFields } from '../values/timestamp.ts';
import { CelDuration, CelError, type CelResult, CelTimestamp, type CelValue } from '../values/value.ts';

function getter(
  name: string,
  id: string,
  read: (fields: CalendarFields) => number,
  zoned = `${id}_with_tz`,
  perUnit?: bigint,
): FunctionDeclaration {
  const call = (moment: CelValue, zone: CelValue = ''): CelResult => {
    if (moment instanceof CelDuration) return moment.nanoseconds / (perUnit ?? 1n);
    if (!(moment instanceof CelTimestamp)) return new CelError('no such overload');
    const fields = calendarFields(moment.nanoseconds, zone as string);
    return 'message' in fields ? new CelError(fields.message) : BigInt(read(fields));
  };
  const overloads = [
    [id, 'timestamp.() -> int', call],
    [zoned, 'timestamp.(string) -> int', call],
  ] as const;
  if (perUnit === undefined) return declare(name, ...overloads);
  return declare(name, ...overloads, [id.replace('timestamp', 'duration'), 'duration.() -> int', call]);
}

const milliseconds = (): FunctionDeclaration => {
  const declared = getter(
    'getMilliseconds',
    'timestamp_to_milliseconds',
    (fields) => fields.millisecond,
    undefined,
    1_000_000n,
  );
  return declared;
};

/** Functions over timestamps, in a time zone, and durations. */
const TIMES: readonly FunctionDeclaration[] = [
  getter('getFullYear', 'timestamp_to_year', (fields) => fields.year),
  getter('getMonth', 'timestamp_to_month', (fields) => fields.month),
  getter('getDayOfYear', 'timestamp_to_day_of_year', (fields) => fields.dayOfYear),
  getter('getDayOfMonth', 'timestamp_to_day_of_month', (fields) => fields.day - 1),
  getter('getDate', 'timestamp_to_day_of_month_1_based', (fields) => fields.day),
  getter('getDayOfWeek', 'timestamp_to_day_of_week', (fields) => fields.dayOfWeek),
  getter('getHours', 'timestamp_to_hours', (fields) => fields.hour, undefined, 3_600_000_000_000n),
  getter('getMinutes', 'timestamp_to_minutes', (fields) => fields.minute, undefined, 60_000_000_000n),
  getter('getSeconds', 'timestamp_to_seconds', (fields) => fields.second, 'timestamp_to_seconds_tz', 1_000_000_000n),
  milliseconds(),
];

/** All functions that expressions in Kubernetes 1.36 may call. */
export const KUBERNETES: ReadonlyMap<string, FunctionDeclaration> = merge([
  ...STANDARD,
  ...OPTIONALS,
  ...STRINGS,
  ...LISTS,
  ...TIMES,
  ...ADDRESSES,
  ...QUANTITIES,
  ...VERSIONS,
  ...URLS,
  ...FORMAT_FUNCTIONS,
]);

/** Merges functions of the same name from several libraries. */
function merge(declarations: readonly FunctionDeclaration[]): ReadonlyMap<string, FunctionDeclaration> {
  const overloads = new Map<string, Overload[]>();
  for (const declaration of declarations) {
    const known = overloads.get(declaration.name) ?? [];
    append(known, declaration.overloads);
    overloads.set(declaration.name, known);
  }
  return new Map([...overloads].map(([name, held]) => [name, { name, overloads: held }]));
}

import { entriesOf } from '../values/collections.ts';
import { numeric } from '../values/compare.ts';
import { formatDouble, toText } from '../values/convert.ts';
import { MAX_CHARACTERS, TOO_MANY_CHARACTERS } from '../values/size-limits.ts';
import { typeNameOfValue } from '../values/type-name.ts';
import { CelError, CelList, CelMap, type CelResult, CelUint, type CelValue, isError } from '../values/value.ts';

const fail = (message: string) => new CelError(message);

/** `'%s has %d'.format([...])`. */
export function formatText(format: string, args: CelList): CelResult {
  let used = 0;
  let result = '';
  for (let index = 0; index < format.length; index++) {
    if (format[index] !== '%') {
      result += format[index];
      continue;
    }
    if (format[index + 1] === '%') {
      result += '%';
      index++;
      continue;
    }
    const clause = /^(?:\.(\d+))?([a-zA-Z])?/.exec(format.slice(index + 1));
    const verb = clause?.[2];
    if (verb === undefined) return fail('unexpected end of string');
    const arg = args.at(used);
    if (arg === undefined) return fail(`index ${used} out of range`);
    const written = formatClause(verb, clause?.[1] === undefined ? undefined : Number(clause[1]), arg);
    if (isError(written)) return written;
    result += String(written);
    if (result.length > MAX_CHARACTERS) return TOO_MANY_CHARACTERS;
    used++;
    index += clause?.[0].length ?? 0;
  }
  return result;
}

function formatClause(verb: string, precision: number | undefined, arg: CelValue): CelResult {
  switch (verb) {
    case 's':
      return formatAny(arg);
    case 'd':
      return formatDecimal(arg);
    case 'f':
    case 'e':
      return formatFraction(verb, precision ?? 6, arg);
    case 'b':
      return formatBinary(arg);
    case 'o':
      return formatBase(arg, 8, 'octal');
    case 'x':
    case 'X':
      return formatHex(arg, verb === 'X');
    default:
      return fail(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function only(arg: CelValue, clause: string, kinds: string): CelError {
  return fail(
    `error during formatting: ${clause} clause can only be used on ${kinds}, was given ${typeNameOfValue(arg)}`,
  );
}

function formatAny(arg: CelValue): CelResult {
  if (arg === null) return 'null';
  if (typeof arg === 'number') return Number.isFinite(arg) ? formatDouble(arg) : formatInfinite(arg);
  if (arg instanceof CelList) {
    const parts = formatParts(arg, formatAny);
    return isError(parts) ? parts : `[${parts.join(', ')}]`;
  }
  if (arg instanceof CelMap) {
    const entries = entriesOf(arg);
    if (isError(entries)) return entries;
    const parts = formatParts(entries, ([key, value]) => {
      const [name, held] = [formatAny(key), formatAny(value)];
      if (isError(name)) return name;
      return isError(held) ? held : `${String(name)}: ${String(held)}`;
    });
    return isError(parts) ? parts : `{${parts.sort().join(', ')}}`;
  }
  return toText(arg);
}

/** The texts of parts, or the first error. Stops when they are too long in total. */
function formatParts<T>(parts: Iterable<T>, format: (part: T) => CelResult): string[] | CelError {
  const texts: string[] = [];
  let length = 0;
  for (const part of parts) {
    const written = format(part);
    if (isError(written)) return written;
    const text = String(written);
    length += text.length + 2;
    if (length > MAX_CHARACTERS) return TOO_MANY_CHARACTERS;
    texts.push(text);
  }
  return texts;
}

function formatDecimal(arg: CelValue): CelResult {
  if (typeof arg === 'bigint') return String(arg);
  if (arg instanceof CelUint) return String(arg.value);
  if (typeof arg === 'number' && !Number.isFinite(arg)) return formatInfinite(arg);
  return only(arg, 'decimal', 'integers');
}

function formatInfinite(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? 'Infinity' : '-Infinity';
}

function formatFraction(verb: 'f' | 'e', precision: number, arg: CelValue): CelResult {
  const value = numeric(arg);
  if (value === undefined) return only(arg, verb === 'f' ? 'fixed-point' : 'scientific', 'doubles');
  const number = Number(value);
  if (!Number.isFinite(number)) return formatInfinite(number);
  const digits = Math.min(precision, 100);
  if (verb === 'f') return number.toFixed(digits);
  return number.toExponential(digits).replace(/e([+-])(\d)$/, 'e$10$2');
}

function formatBinary(arg: CelValue): CelResult {
  if (typeof arg === 'boolean') return arg ? '1' : '0';
  return formatBase(arg, 2, 'binary');
}

function formatBase(arg: CelValue, base: number, name: string): CelResult {
  const value = typeof arg === 'bigint' ? arg : arg instanceof CelUint ? arg.value : undefined;
  return value === undefined ? only(arg, name, 'integers') : value.toString(base);
}

function formatHex(arg: CelValue, upper: boolean): CelResult {
  let result: CelResult;
  if (typeof arg === 'string') result = Buffer.from(arg).toString('hex');
  else if (arg instanceof Uint8Array) result = Buffer.from(arg).toString('hex');
  else result = formatBase(arg, 16, 'hex');
  if (isError(result)) return only(arg, 'hex', 'integers, byte buffers, and strings');
  return upper ? (result as string).toUpperCase() : result;
}

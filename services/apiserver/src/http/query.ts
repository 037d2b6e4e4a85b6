import { StatusError } from '@gantry/objects';
import { parseGoDurationMs } from '@gantry/base';

const INT64_MAX = 9_223_372_036_854_775_807n;

/** Parses an integer parameter. Throws BadRequest with Go's message for an invalid one. Undefined when absent. */
export function parseInt64(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) {
    throw StatusError.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  const [, sign = '', digits = ''] = /^([+-]?)0*(\d+)$/.exec(text) ?? [];
  const value = digits.length > 20 ? INT64_MAX + 1n : BigInt(`${sign === '-' ? '-' : ''}${digits}`);
  if (value > INT64_MAX || value < -INT64_MAX - 1n) {
    throw StatusError.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return Number(value);
}

/** Parses a boolean parameter like Kubernetes: everything except "false" and "0" is true. Undefined when absent. */
export function parseBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text.toLowerCase() !== 'false' && text !== '0';
}

/** Kubernetes' time limit for requests that are not long-running, in milliseconds. */
const MAX_REQUEST_MS = 60_000;

/**
 * The time limit of a request that is not long-running, in milliseconds: its `?timeout=`, if that is positive and below the maximum.
 * Throws StatusError BadRequest with Go's message when `?timeout=` is not a duration.
 */
export function requestTimeoutMs(query: URLSearchParams): number {
  const text = query.get('timeout') ?? '';
  if (text === '') return MAX_REQUEST_MS;
  const wanted = parseGoDurationMs(text);
  if (wanted === undefined) {
    throw StatusError.badRequest(`invalid timeout specified in the request URL - time: ${durationProblem(text)}`);
  }
  return wanted > 0 && wanted < MAX_REQUEST_MS ? wanted : MAX_REQUEST_MS;
}

/** The first problem that Go's time.ParseDuration reports. */
function durationProblem(text: string): string {
  const part = /(\d+\.?\d*|\.\d+)([^\d.]*)/y;
  part.lastIndex = /^[+-]/.test(text) ? 1 : 0;
  const quoted = JSON.stringify(text);
  while (part.lastIndex < text.length) {
    const found = part.exec(text);
    if (found === null) break;
    const unit = found[2] ?? '';
    if (unit === '') return `missing unit in duration ${quoted}`;
    if (!/^(?:ns|us|µs|μs|ms|s|m|h)$/.test(unit)) return `unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
  }
  return `invalid duration ${quoted}`;
}

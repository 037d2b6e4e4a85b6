import { parseGoDurationMs } from '@gantry/base';
import { StatusError } from '@gantry/objects';

/** Kubernetes' time limit for requests that are not long-running, in milliseconds. */
export const MAX_REQUEST_MS = 60_000;

/**
 * The time limit of a request that is not long-running, in milliseconds: its `?timeout=`, if that is positive and below the maximum.
 * Throws StatusError BadRequest, in Go's words, where `?timeout=` is no duration.
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

/** What Go's time.ParseDuration finds wrong first. */
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

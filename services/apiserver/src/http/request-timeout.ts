import { parseGoDurationMs } from '@gantry/base';
import { StatusError } from '@gantry/objects';

/** Kubernetes' limit for requests that do not last by nature, in milliseconds. */
export const MAX_REQUEST_MS = 60_000;

/**
 * The milliseconds that a request has, which does not last by nature: what `?timeout=` says, if that is positive and below the
 * limit. Throws StatusError BadRequest, in Go's words, where it is no duration.
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

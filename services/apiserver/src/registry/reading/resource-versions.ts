import { StatusError } from '@gantry/objects';
import type { ResourceVersion } from '../../storage/object-store.ts';

/** The smallest version that an object can have. */
const MIN_VERSION = 256;
const MAX_UINT64 = 2n ** 64n - 1n;

/** Parses a client's resourceVersion; undefined for '' and '0'. BadRequest in Go's words for anything that is not a number. */
export function parseResourceVersion(text: string, prefix = ''): ResourceVersion | undefined {
  if (text === '') return undefined;
  const why = /^[0-9]+$/.test(text) ? (isOutOfRange(text) ? 'value out of range' : '') : 'invalid syntax';
  if (why !== '') {
    const quoted = JSON.stringify(text);
    throw StatusError.badRequest(
      `${prefix}resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`,
    );
  }
  // A number that is too big to be exact is no version that was ever given: only its text is shown.
  const value = Number(text);
  return value === 0 ? undefined : value;
}

/** Whether digits make more than 64 bits; long texts are not calculated with. */
function isOutOfRange(digits: string): boolean {
  const significant = digits.replace(/^0+/, '');
  return significant.length > 20 || BigInt(significant === '' ? 0 : significant) > MAX_UINT64;
}

/** The error for a version below every version that was ever given. */
export function tooOld(version: ResourceVersion): StatusError | undefined {
  return version < MIN_VERSION
    ? StatusError.expired('The resourceVersion for the provided list is too old.')
    : undefined;
}

/** The error for a version that this apiserver has not seen in time. */
export function tooLargeVersion(asked: string, current: ResourceVersion): StatusError {
  return new StatusError('Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

import { StatusError } from '@gantry/api';
import type { ResourceVersion } from '../storage/object-store.ts';

/** The smallest version that an object can have. */
const MIN_VERSION = 256;

/** A version as clients name it: '' and '0' mean what Kubernetes says they mean. */
export function parseResourceVersion(text: string): ResourceVersion | undefined {
  if (text === '' || text === '0') return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw StatusError.badRequest(`resourceVersion: Invalid value: ${JSON.stringify(text)}: invalid syntax`);
  }
  return value;
}

/** The answer to a version below every version that was ever given. */
export function tooOld(version: ResourceVersion): StatusError | undefined {
  return version < MIN_VERSION
    ? StatusError.expired('The resourceVersion for the provided list is too old.')
    : undefined;
}

/** The answer to a version that this apiserver has not seen in time. */
export function tooLargeVersion(asked: ResourceVersion, current: ResourceVersion): StatusError {
  return new StatusError('Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

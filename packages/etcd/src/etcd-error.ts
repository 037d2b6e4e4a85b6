/**
 * Why a call failed. The definite codes mean that nothing was written: invalid, too-large, no-space, permission-denied, lease-gone,
 * compacted, future-revision, busy, not-sent. `unavailable`: a read failed. `outcome-unknown`: a write may have been applied, or may be
 * applied later.
 */
export type EtcdErrorCode =
  | 'busy'
  | 'compacted'
  | 'future-revision'
  | 'invalid'
  | 'lease-gone'
  | 'no-space'
  | 'outcome-unknown'
  | 'permission-denied'
  | 'too-large'
  | 'unavailable';

/** The only error that this package throws, except for the reason of an aborted signal. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';
  readonly code: EtcdErrorCode;

  constructor(code: EtcdErrorCode, message: string, options?: ErrorOptions) {
    super(`${code}: ${message}`, options);
    this.code = code;
  }
}

/** Whether `error` is an EtcdError with this code. */
export function isEtcdError(error: unknown, code: EtcdErrorCode): error is EtcdError {
  return error instanceof EtcdError && error.code === code;
}

/** Whether a failed write has certainly changed nothing. */
export function isDefinite(error: EtcdError): boolean {
  return error.code !== 'outcome-unknown' && error.code !== 'unavailable';
}

/**
 * Why a call failed. Definite ones (nothing was written): invalid, too-large, no-space, permission-denied, lease-gone, compacted,
 * future-revision, busy, not-sent. `unavailable` is a read that failed. `outcome-unknown` is a write that may have landed or may land later.
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

/** The only error of this package besides an aborted signal's reason. */
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

/** Whether a write that failed so certainly left nothing behind. */
export function isDefinite(error: EtcdError): boolean {
  return error.code !== 'outcome-unknown' && error.code !== 'unavailable';
}

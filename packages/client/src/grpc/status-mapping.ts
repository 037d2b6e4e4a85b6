import { type Metadata, status as GrpcStatus } from '@grpc/grpc-js';
import { type Status, StatusError, type StatusReason } from '@gantry/objects';
import { DeadlineError, errorMessage } from '@gantry/base';

/** The trailer of a failed call: a Kubernetes Status as JSON text. */
export const STATUS_TRAILER = 'gantry-status-bin';

/** Trailers are sent in one header block, whose size both sides limit. */
const MAX_STATUS_BYTES = 8 * 1024;
const MAX_MESSAGE_LENGTH = 512;

const CODES: Record<StatusReason, number> = {
  BadRequest: GrpcStatus.INVALID_ARGUMENT,
  Unauthorized: GrpcStatus.UNAUTHENTICATED,
  Forbidden: GrpcStatus.PERMISSION_DENIED,
  NotFound: GrpcStatus.NOT_FOUND,
  MethodNotAllowed: GrpcStatus.UNIMPLEMENTED,
  NotAcceptable: GrpcStatus.INVALID_ARGUMENT,
  AlreadyExists: GrpcStatus.ALREADY_EXISTS,
  Conflict: GrpcStatus.ABORTED,
  Gone: GrpcStatus.OUT_OF_RANGE,
  Expired: GrpcStatus.OUT_OF_RANGE,
  RequestEntityTooLarge: GrpcStatus.RESOURCE_EXHAUSTED,
  UnsupportedMediaType: GrpcStatus.INVALID_ARGUMENT,
  Invalid: GrpcStatus.INVALID_ARGUMENT,
  TooManyRequests: GrpcStatus.RESOURCE_EXHAUSTED,
  InternalError: GrpcStatus.INTERNAL,
  ServiceUnavailable: GrpcStatus.UNAVAILABLE,
  Timeout: GrpcStatus.DEADLINE_EXCEEDED,
  ServerTimeout: GrpcStatus.DEADLINE_EXCEEDED,
};

const REASONS: Partial<Record<number, StatusReason>> = {
  [GrpcStatus.INVALID_ARGUMENT]: 'BadRequest',
  [GrpcStatus.UNAUTHENTICATED]: 'Unauthorized',
  [GrpcStatus.PERMISSION_DENIED]: 'Forbidden',
  [GrpcStatus.NOT_FOUND]: 'NotFound',
  [GrpcStatus.ALREADY_EXISTS]: 'AlreadyExists',
  [GrpcStatus.ABORTED]: 'Conflict',
  [GrpcStatus.OUT_OF_RANGE]: 'Expired',
  [GrpcStatus.RESOURCE_EXHAUSTED]: 'RequestEntityTooLarge',
  [GrpcStatus.DEADLINE_EXCEEDED]: 'Timeout',
  [GrpcStatus.UNAVAILABLE]: 'ServiceUnavailable',
};

/** The gRPC form of an error, as a server sends it. */
export interface GrpcFailure {
  readonly code: number;
  readonly message: string;
  readonly trailers: Readonly<Record<string, Buffer>>;
}

/** The server's side: converts the error of a failed call. Anything but a StatusError becomes an internal error. */
export function toGrpcFailure(error: unknown): GrpcFailure {
  const failure = asStatusError(error);
  const code = failure.reason === '' ? GrpcStatus.UNKNOWN : CODES[failure.reason];
  return {
    code,
    message: failure.message.slice(0, MAX_MESSAGE_LENGTH),
    trailers: { [STATUS_TRAILER]: encodeStatus(failure.toStatus()) },
  };
}

function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof DeadlineError) return StatusError.timeout(error.message);
  return StatusError.internal(errorMessage(error));
}

function encodeStatus(status: Status): Buffer {
  const whole = Buffer.from(JSON.stringify(status));
  if (whole.length <= MAX_STATUS_BYTES) return whole;
  const { causes: _dropped, ...details } = status.details ?? {};
  const message = (status.message ?? '').slice(0, MAX_STATUS_BYTES / 4);
  return Buffer.from(JSON.stringify({ ...status, message, details }));
}

/** A failed call as grpc-js reports it. */
export interface FailedCall {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

export function isFailedCall(error: unknown): error is FailedCall & Error {
  return error instanceof Error && 'code' in error && 'metadata' in error && 'details' in error;
}

/** The Status that the server sent; undefined when the call failed before that. */
export function sentStatus(error: FailedCall): StatusError | undefined {
  const bytes = error.metadata.get(STATUS_TRAILER)[0];
  if (bytes === undefined) return undefined;
  return StatusError.fromStatus(JSON.parse(bytes.toString()) as Status);
}

/** The client's side: the error of a failed read, or of a call to which the server responded. */
export function fromFailedCall(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (!isFailedCall(error)) return StatusError.internal(errorMessage(error));
  const sent = sentStatus(error);
  if (sent !== undefined) return sent;
  const reason = REASONS[error.code] ?? 'InternalError';
  return new StatusError(reason, `${GrpcStatus[error.code] ?? error.code}: ${error.details}`);
}

/** Whether the call certainly never reached a server, so that even a write may be repeated. */
export function wasNeverSent(error: unknown): boolean {
  return (
    isFailedCall(error) &&
    error.code === GrpcStatus.UNAVAILABLE &&
    sentStatus(error) === undefined &&
    /^(No connection established|Name resolution failed|Channel has been shut down)/.test(error.details)
  );
}

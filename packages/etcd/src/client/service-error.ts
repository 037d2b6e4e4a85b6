import { status as GrpcStatus, type ServiceError } from '@grpc/grpc-js';
import { EtcdError, type EtcdErrorCode } from '../etcd-error.ts';

/** Messages of etcd that are more specific than their gRPC code. */
const BY_MESSAGE: readonly (readonly [RegExp, EtcdErrorCode])[] = [
  [/required revision has been compacted/, 'compacted'],
  [/required revision is a future revision/, 'future-revision'],
  [/database space exceeded/, 'no-space'],
  [/requested lease not found/, 'lease-gone'],
  [/request is too large|received message larger than max|trying to send message larger than max/i, 'too-large'],
  [/too many requests|revision of auth store is old/, 'busy'],
];

/** Converts the error of a failed call. A read may be repeated; the outcome of a write may be unknown. */
export function fromServiceError(error: ServiceError, effect: 'read' | 'write', member: string): EtcdError {
  const message = `${error.details === '' ? error.message : error.details} (${member})`;
  const known = BY_MESSAGE.find(([pattern]) => pattern.test(message));
  return new EtcdError(known?.[1] ?? byCode(error.code, effect), message, { cause: error });
}

function byCode(code: GrpcStatus, effect: 'read' | 'write'): EtcdErrorCode {
  switch (code) {
    case GrpcStatus.INVALID_ARGUMENT:
    case GrpcStatus.FAILED_PRECONDITION:
    case GrpcStatus.ALREADY_EXISTS:
    case GrpcStatus.NOT_FOUND:
    case GrpcStatus.OUT_OF_RANGE:
    case GrpcStatus.UNIMPLEMENTED:
      return 'invalid';
    case GrpcStatus.PERMISSION_DENIED:
    case GrpcStatus.UNAUTHENTICATED:
      return 'permission-denied';
    case GrpcStatus.OK:
    case GrpcStatus.CANCELLED:
    case GrpcStatus.UNKNOWN:
    case GrpcStatus.DEADLINE_EXCEEDED:
    case GrpcStatus.RESOURCE_EXHAUSTED:
    case GrpcStatus.ABORTED:
    case GrpcStatus.INTERNAL:
    case GrpcStatus.UNAVAILABLE:
    case GrpcStatus.DATA_LOSS:
      return effect === 'read' ? 'unavailable' : 'outcome-unknown';
  }
}

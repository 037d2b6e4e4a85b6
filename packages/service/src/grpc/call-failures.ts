import { CrowdError } from '../starts.ts';
import { Metadata, status } from '@grpc/grpc-js';
import type { Logger } from '../logger.ts';
import type { GrpcError } from './grpc-service.ts';

/** The reason for which a server ended a stream. */
export class StreamEndedError extends Error {
  override readonly name = 'StreamEndedError';
}

/** Created once: a stack trace for each call would cost more than the call itself. */
export const CLIENT_GONE = new StreamEndedError('the client has gone');
export const PEER_ENDED = new StreamEndedError('the client certificate is no longer valid');

export const RELEASED = new StreamEndedError('the server cannot answer now');

export const CERTIFICATE_ENDED = { code: status.UNAUTHENTICATED, details: PEER_ENDED.message };

/** The error of a failed call for its client. */
export function failureOf(error: unknown, toGrpcError: (error: unknown) => GrpcError): GrpcError {
  if (!(error instanceof CrowdError)) return toGrpcError(error);
  return { code: status.RESOURCE_EXHAUSTED, message: error.message, trailers: {} };
}

/** The trailers of an error as grpc-js sends them. */
export function trailers(failure: GrpcError): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(failure.trailers)) metadata.set(name, value);
  return metadata;
}

/** Logs failures of the server itself. Failures caused by a request are logged by the client. */
export function logUnexpected(logger: Logger, failure: GrpcError, error: unknown): void {
  if (failure.code === status.INTERNAL || failure.code === status.UNKNOWN) logger.error({ err: error }, 'call failed');
}

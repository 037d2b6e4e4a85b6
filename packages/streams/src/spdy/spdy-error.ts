/** Statuses of RST_STREAM (SPDY/3.1, 2.6.3). */
export const RESET = {
  protocolError: 1,
  refusedStream: 3,
  cancel: 5,
} as const;

/** The peer violated the protocol or a limit. The connection ends. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}

import { type Status, StatusError, type StatusReason } from '@gantry/objects';

/** The answer to a request that a webhook has refused, in the webhook's words. */
export function denial(webhook: string, status: Partial<Status> | undefined): StatusError {
  const { message = '', reason = '', code = 0, details } = status ?? {};
  const head = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = message === '' ? reason : message;
  // A webhook may give reasons of its own.
  return new StatusError(reason as StatusReason | '', why === '' ? `${head} without explanation` : `${head}: ${why}`, {
    code: code < 400 ? 400 : code,
    ...(details === undefined ? {} : { details }),
  });
}

/** A webhook that acts on what it is asked cannot be asked about what is not meant. */
export function dryRunUnsupported(webhook: string): StatusError {
  return StatusError.badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);
}

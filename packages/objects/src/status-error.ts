import type { Status, StatusCause, StatusDetails } from './generated/types.ts';
import { type FieldError, formatFieldError } from './field-error.ts';

/** The machine-readable reasons of a failed request (Kubernetes `metav1.StatusReason`) and their HTTP codes. */
export const STATUS_CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  ServerTimeout: 504,
} as const;

export type StatusReason = keyof typeof STATUS_CODES;

/** Group and plural (or kind, for Invalid) as `deployments.apps`; the core group adds nothing. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

function qualified(group: string, name: string): string {
  return group === '' ? name : `${name}.${group}`;
}

/** Maximum length of the errors in an Invalid's message, in characters. */
const MAX_INVALID_LENGTH = 1024 * 1024;

/** Tells the refusal of a leader's write from other refusals. */
const LEADERSHIP_ENDED = 'LeadershipEnded';

/** A failed API request: a Kubernetes `Status` that can be thrown. The only error that crosses the API's boundary. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly reason: StatusReason | '';
  readonly code: number;
  readonly details: StatusDetails | undefined;

  constructor(reason: StatusReason | '', message: string, options: { code?: number; details?: StatusDetails } = {}) {
    super(message);
    this.reason = reason;
    this.code = options.code ?? (reason === '' ? 500 : STATUS_CODES[reason]);
    this.details = options.details;
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason || undefined,
      details: this.details,
      code: this.code,
    };
  }

  static fromStatus(status: Status): StatusError {
    const reason = status.reason !== undefined && status.reason in STATUS_CODES ? (status.reason as StatusReason) : '';
    return new StatusError(reason, status.message ?? '', { code: status.code, details: status.details });
  }

  static badRequest(message: string): StatusError {
    return new StatusError('BadRequest', message);
  }

  static unauthorized(message = 'Unauthorized'): StatusError {
    return new StatusError('Unauthorized', message);
  }

  /** `message` is the part after the colon: who may not do what. */
  static forbidden(of: GroupResource, name: string, message: string): StatusError {
    const what =
      of.resource === ''
        ? 'forbidden'
        : name === ''
          ? `${qualified(of.group, of.resource)} is forbidden`
          : `${qualified(of.group, of.resource)} "${name}" is forbidden`;
    return new StatusError('Forbidden', `${what}: ${message}`, { details: details(of, name) });
  }

  /** A write of a leader whose term has ended; `why` names the term. */
  static leadershipEnded(of: GroupResource, name: string, why: string): StatusError {
    const { message, details } = StatusError.forbidden(of, name, why);
    const causes = [{ reason: LEADERSHIP_ENDED, message: why }];
    return new StatusError('Forbidden', message, { details: { ...details, causes } });
  }

  static notFound(of: GroupResource, name: string): StatusError {
    return new StatusError('NotFound', `${qualified(of.group, of.resource)} "${name}" not found`, {
      details: details(of, name),
    });
  }

  static alreadyExists(of: GroupResource, name: string): StatusError {
    return new StatusError('AlreadyExists', `${qualified(of.group, of.resource)} "${name}" already exists`, {
      details: details(of, name),
    });
  }

  /** `why` is the text after "cannot be fulfilled on …:"; by default that the object has been modified. */
  static conflict(
    of: GroupResource,
    name: string,
    why = 'the object has been modified; please apply your changes to the latest version and try again',
  ): StatusError {
    return new StatusError(
      'Conflict',
      `Operation cannot be fulfilled on ${qualified(of.group, of.resource)} "${name}": ${why}`,
      { details: details(of, name) },
    );
  }

  /** Reports each error until the message gets too long: every error may repeat a large part of the object. */
  static invalid(group: string, kind: string, name: string, errors: readonly FieldError[]): StatusError {
    const causes: StatusCause[] = [];
    const told = new Set<string>();
    let size = 0;
    for (const error of errors) {
      const message = formatFieldError(error);
      size += message.length + error.field.length;
      if (size > MAX_INVALID_LENGTH && causes.length > 0) break;
      causes.push({ reason: error.type, message, field: error.field });
      told.add(`${error.field}: ${message}`);
    }
    const texts = [...told];
    const list = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
    return new StatusError('Invalid', `${qualified(group, kind)} "${name}" is invalid: ${list}`, {
      details: { name: name || undefined, group: group || undefined, kind: kind || undefined, causes },
    });
  }

  static expired(message: string): StatusError {
    return new StatusError('Expired', message);
  }

  static timeout(message: string): StatusError {
    return new StatusError('Timeout', message);
  }

  static unavailable(message: string): StatusError {
    return new StatusError('ServiceUnavailable', message);
  }

  static internal(message: string): StatusError {
    return new StatusError('InternalError', `Internal error occurred: ${message}`, {
      details: { causes: [{ message }] },
    });
  }
}

function details(of: GroupResource, name: string): StatusDetails {
  return { name: name || undefined, group: of.group || undefined, kind: of.resource };
}

/** Whether `error` is a StatusError with this reason. */
export function isReason(error: unknown, reason: StatusReason): error is StatusError {
  return error instanceof StatusError && error.reason === reason;
}

/** Whether a write was refused because its writer leads no more. */
export function isLeadershipEnded(error: unknown): error is StatusError {
  if (!isReason(error, 'Forbidden')) return false;
  return error.details?.causes?.some(({ reason }) => reason === LEADERSHIP_ENDED) === true;
}

import { type FieldError, StatusError, forbidden, invalid } from '@gantry/objects';
import { parseBoolean, parseInt64 } from '../../http/query.ts';

/** metav1 PodLogOptions, checked. */
export interface LogOptions {
  readonly container: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly sinceSeconds: number | undefined;
  /** Unix milliseconds. */
  readonly sinceTime: number | undefined;
  /** Of an alpha feature that is off: it may not be given. */
  readonly stream: string | undefined;
}

/** Reads and checks the query of `pods/log`. */
export function parseLogOptions(query: URLSearchParams, pod: string): LogOptions {
  const options: LogOptions = {
    container: query.get('container') ?? '',
    follow: parseBoolean(query, 'follow') ?? false,
    previous: parseBoolean(query, 'previous') ?? false,
    timestamps: parseBoolean(query, 'timestamps') ?? false,
    tailLines: parseInt64(query, 'tailLines'),
    limitBytes: parseInt64(query, 'limitBytes'),
    sinceSeconds: parseInt64(query, 'sinceSeconds'),
    sinceTime: parseTime(query.get('sinceTime')),
    stream: query.get('stream') ?? undefined,
  };
  // Agents are asked with mutual TLS in any case: what is wrong with a certificate must not be overlooked.
  parseBoolean(query, 'insecureSkipTLSVerifyBackend');
  const errors = check(options);
  if (errors.length > 0) throw StatusError.invalid('', 'PodLogOptions', pod, errors);
  return options;
}

function check({ tailLines, limitBytes, sinceSeconds, sinceTime, stream }: LogOptions): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(invalid('tailLines', tailLines, 'must be greater than or equal to 0'));
  }
  if (limitBytes !== undefined && limitBytes < 1)
    errors.push(invalid('limitBytes', limitBytes, 'must be greater than 0'));
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    errors.push(forbidden('', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalid('sinceSeconds', sinceSeconds, 'must be greater than 0'));
  }
  if (stream !== undefined) errors.push(forbidden('stream', 'may not be specified'));
  return errors;
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function parseTime(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const at = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    const quoted = JSON.stringify(text);
    throw StatusError.badRequest(
      `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`,
    );
  }
  return at;
}

import {
  containerStatusOf,
  type FieldError,
  forbidden,
  invalid,
  lastRunOf,
  type Pod,
  StatusError,
} from '@gantry/objects';
import { parseBoolean, parseInt64 } from '../../http/query.ts';
import type { LogRequest } from './agent-logs.ts';

/** Validated PodLogOptions. */
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
  /** The option of an alpha feature that is off, so it must be undefined. */
  readonly stream: string | undefined;
}

/** Parses and validates the query of `pods/log`. */
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
  // The option is validated but has no effect: calls to agents always verify the certificate.
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

/** The request to an agent for a container's log; `now` is in Unix milliseconds. */
export function logRequest(pod: Pod, container: string, options: LogOptions, now: number): LogRequest {
  const { sinceSeconds, sinceTime, tailLines, limitBytes } = options;
  const sinceMs = sinceTime ?? (sinceSeconds === undefined ? undefined : now - sinceSeconds * 1000);
  return {
    namespace: pod.metadata.namespace ?? '',
    pod: pod.metadata.name ?? '',
    podUid: pod.metadata.uid ?? '',
    container,
    follow: options.follow,
    previousId: options.previous ? lastRunOf(pod, container) : '',
    timestamps: options.timestamps,
    ...(tailLines === undefined ? {} : { tailLines: toInt64(tailLines) }),
    ...(limitBytes === undefined ? {} : { limitBytes: toInt64(limitBytes) }),
    ...(sinceMs === undefined ? {} : { sinceMs: toInt64(sinceMs) }),
  };
}

/** Converts a number for an agent. Negative numbers become 0, and numbers above the safe integers become the largest one. */
function toInt64(value: number): bigint {
  return BigInt(Math.floor(Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER)));
}

/** The name of the requested container. Throws BadRequest with Kubernetes' message when it is ambiguous or not in the pod. */
export function selectContainer(pod: Pod, wanted: string): string {
  const name = pod.metadata.name ?? '';
  const containers = (pod.spec?.containers ?? []).map((c) => c.name);
  const init = (pod.spec?.initContainers ?? []).map((c) => c.name);
  const ephemeral = (pod.spec?.ephemeralContainers ?? []).map((c) => c.name);
  if (wanted !== '') {
    if ([...containers, ...init, ...ephemeral].includes(wanted)) return wanted;
    throw StatusError.badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only] = containers;
  if (only !== undefined && containers.length === 1) return only;
  const also = init.length === 0 ? '' : ` or one of the init containers: [${init.join(' ')}]`;
  throw StatusError.badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(' ')}]${also}`,
  );
}

/** Throws BadRequest with the kubelet's message when the container has no log yet, or no previous log. */
export function checkHasLog(pod: Pod, container: string, which: 'current' | 'previous'): void {
  const named = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name ?? '')}`;
  const status = containerStatusOf(pod, container);
  if (status === undefined) {
    if (which === 'previous') throw StatusError.badRequest(`previous terminated ${named} not found`);
    throw StatusError.badRequest(`${named} is waiting to start: ContainerCreating`);
  }
  const last = lastRunOf(pod, container);
  if (which === 'previous') {
    if (last === '') throw StatusError.badRequest(`previous terminated ${named} not found`);
    return;
  }
  if (status.state?.running !== undefined || last !== '') return;
  if (status.state?.terminated !== undefined) {
    if ((status.state.terminated.containerID ?? '') === '') throw StatusError.badRequest(`${named} is terminated`);
    return;
  }
  const reason = status.state?.waiting?.reason;
  switch (reason) {
    case undefined:
      throw StatusError.badRequest(`${named} is waiting to start - no logs yet`);
    case 'ErrImagePull':
      throw StatusError.badRequest(`${named} is waiting to start: image can't be pulled`);
    case 'ImagePullBackOff':
      throw StatusError.badRequest(`${named} is waiting to start: trying and failing to pull image`);
    default:
      throw StatusError.badRequest(`${named} is waiting to start: ${reason}`);
  }
}

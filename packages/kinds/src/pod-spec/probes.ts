import { append } from '@gantry/base';
import {
  type FieldError,
  type HTTPGetAction,
  type Lifecycle,
  type LifecycleHandler,
  type Probe,
  forbidden,
  httpHeaderName,
  invalid,
  notSupported,
  portName,
  portNumber,
  required,
} from '@gantry/objects';
import { invalidAll, nonNegative } from '@gantry/apimachinery';

type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'> & Pick<LifecycleHandler, 'sleep'>;

/** Checks a port number or the name of a container port. */
export function validatePortReference(port: number | string | undefined, path: string): FieldError[] {
  const value = port ?? 0;
  return invalidAll(path, value, typeof value === 'number' ? portNumber(value) : portName(value));
}

function validateHandler(handler: Handler, gracePeriodSeconds: number | undefined, path: string): FieldError[] {
  const checks: [keyof Handler, () => FieldError[]][] = [];
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (exec !== undefined) {
    checks.push(['exec', () => ((exec.command ?? []).length === 0 ? [required(`${path}.exec.command`)] : [])]);
  }
  if (httpGet !== undefined) checks.push(['httpGet', () => validateHttpGet(httpGet, `${path}.httpGet`)]);
  if (tcpSocket !== undefined) {
    checks.push(['tcpSocket', () => validatePortReference(tcpSocket.port, `${path}.tcpSocket.port`)]);
  }
  if (grpc !== undefined) {
    checks.push(['grpc', () => invalidAll(`${path}.grpc.port`, grpc.port ?? 0, portNumber(grpc.port ?? 0))]);
  }
  if (sleep !== undefined) {
    checks.push(['sleep', () => validateSleep(sleep.seconds ?? 0, gracePeriodSeconds, `${path}.sleep`)]);
  }
  if (checks.length === 0) return [required(path, 'must specify a handler type')];
  return checks.flatMap(([name, check], i) =>
    i === 0 ? check() : [forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')],
  );
}

function validateSleep(seconds: number, gracePeriodSeconds: number | undefined, path: string): FieldError[] {
  const limit = gracePeriodSeconds ?? 0;
  if (seconds >= 0 && (gracePeriodSeconds === undefined || seconds <= limit)) return [];
  return [invalid(path, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${limit})`)];
}

function validateHttpGet(action: HTTPGetAction, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { path: url = '', scheme = '' } = action;
  if (url === '') errors.push(required(`${path}.path`));
  append(errors, validatePortReference(action.port, `${path}.port`));
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') errors.push(notSupported(`${path}.scheme`, scheme, ['HTTP', 'HTTPS']));
  for (const { name = '' } of action.httpHeaders ?? []) {
    append(errors, invalidAll(`${path}.httpHeaders`, name, httpHeaderName(name)));
  }
  return errors;
}

export function validateLifecycle(
  lifecycle: Lifecycle | undefined,
  gracePeriodSeconds: number | undefined,
  path: string,
): FieldError[] {
  const { postStart, preStop } = lifecycle ?? {};
  return [
    ...(postStart === undefined ? [] : validateHandler(postStart, gracePeriodSeconds, `${path}.postStart`)),
    ...(preStop === undefined ? [] : validateHandler(preStop, gracePeriodSeconds, `${path}.preStop`)),
  ];
}

const TIMES = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

export type ProbeRole = 'liveness' | 'readiness' | 'startup';

/** Checks a probe. Liveness and startup probes need a success threshold of 1; readiness probes have no grace period. */
export function validateProbe(probe: Probe | undefined, role: ProbeRole, path: string): FieldError[] {
  if (probe === undefined) return [];
  const errors = validateHandler(probe, undefined, path);
  for (const field of TIMES) append(errors, nonNegative(`${path}.${field}`, probe[field]));
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    errors.push(invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  }
  if (role === 'readiness') {
    if (grace !== undefined) {
      errors.push(invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'));
    }
  } else if (probe.successThreshold !== 1) {
    errors.push(invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1'));
  }
  return errors;
}

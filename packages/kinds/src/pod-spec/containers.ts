import { append } from '@gantry/base';
import {
  type Container,
  type ContainerPort,
  dns1123Label,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  oneOf,
  type PodSpec,
  portName,
  portNumber,
  repeatedAt,
  required,
  type Volume,
} from '@gantry/objects';
import { validateResourceRequirements } from './compute-resources.ts';
import { validateContainerClaims } from './container-claims.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import { invalidAll, unsupported } from '@gantry/apimachinery';
import { validateVolumeDevices, validateVolumeMounts } from './mounts.ts';
import { validateLifecycle, validateProbe } from './probes.ts';
import { validateSecurityContext } from './security-context.ts';

const POLICIES = ['Always', 'Never', 'OnFailure'];
const ACTIONS = ['Restart', 'RestartAllContainers'];
const OPERATORS = ['In', 'NotIn'];
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;

function tooMany(field: string, value: number, max: number): FieldError {
  return { type: 'FieldValueTooMany', field, value, detail: `must have at most ${max} items` };
}

/**
 * Checks the restart policy and rules of one container (Kubernetes: validateContainerRestartPolicy). Sidecars may have rules too: an exit
 * can restart all containers.
 */
export function validateRestartPolicy(
  { restartPolicy, restartPolicyRules: rules = [] }: Container,
  kind: 'init' | 'main',
  path: string,
): FieldError[] {
  const field = `${path}.restartPolicyRules`;
  const errors: FieldError[] = [];
  if (restartPolicy === undefined) {
    if (rules.length === 0) return [];
    errors.push(required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
    // Kubernetes checks the rules of an init container only if it has a policy.
    if (kind === 'init') return errors;
  } else append(errors, oneOf(`${path}.restartPolicy`, restartPolicy, POLICIES));
  if (rules.length > MAX_RULES) errors.push(tooMany(field, rules.length, MAX_RULES));
  rules.forEach((rule, i) => append(errors, validateRule(rule, `${field}[${i}]`)));
  return errors;
}

function validateRule(
  { action, exitCodes }: NonNullable<Container['restartPolicyRules']>[number],
  path: string,
): FieldError[] {
  const errors = oneOf(`${path}.action`, action, ACTIONS);
  if (exitCodes === undefined) return [...errors, required(`${path}.exitCodes`, 'must be specified')];
  const { operator, values = [] } = exitCodes;
  append(errors, oneOf(`${path}.exitCodes.operator`, operator, OPERATORS));
  if (values.length > MAX_EXIT_CODES) {
    errors.push(tooMany(`${path}.exitCodes.values`, values.length, MAX_EXIT_CODES));
  }
  return errors;
}

const NAMED =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX';

const after = (base: string, sign: string, count: number) =>
  Array.from({ length: count }, (_, i) => `SIG${base}${sign}${i + 1}`);

/** Stop signals by operating system. */
const SIGNALS: Readonly<Record<string, readonly string[]>> = {
  linux: [
    ...NAMED.split(' ').map((name) => `SIG${name}`),
    ...after('RTMIN', '+', 15),
    ...after('RTMAX', '-', 14),
  ].sort(),
  windows: ['SIGKILL', 'SIGTERM'],
};

/** Checks a container's stop signal (Kubernetes: validateStopSignal). */
export function validateStopSignal(
  signal: string | undefined,
  { os }: Pick<PodSpec, 'os'>,
  path: string,
): FieldError[] {
  if (signal === undefined) return [];
  if (os === undefined) return [forbidden(path, 'may not be set for containers with empty `spec.os.name`')];
  const supported = SIGNALS[os.name];
  return supported === undefined ? [] : oneOf(path, signal, supported);
}

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const MESSAGE_POLICIES = ['File', 'FallbackToLogsOnError'];
const RESIZABLE = ['cpu', 'memory'];
const RESIZE_POLICIES = ['NotRequired', 'RestartContainer'];
const NOT_FOR_INIT = 'may not be set for init containers without restartPolicy=Always';

/** The part of a pod that the rules on containers need. */
export interface ContainerScope {
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
}

export function validateContainers(scope: ContainerScope, path: string): FieldError[] {
  const containers = scope.spec.containers ?? [];
  if (containers.length === 0) return [required(path)];
  const isRepeated = repeatedAt(containers.map(({ name }) => name ?? ''));
  const errors = containers.flatMap((container, i) => {
    const at = `${path}[${i}]`;
    return [
      ...validateContainerParts(container, scope, at),
      ...(isRepeated(i) ? [duplicate(`${at}.name`, container.name ?? '')] : []),
      ...validateHooks(container, scope, at),
      ...validateRestartPolicy(container, 'main', at),
    ];
  });
  return [...errors, ...validateHostPorts(containers, path)];
}

export function validateInitContainers(scope: ContainerScope, path: string): FieldError[] {
  const taken = new Set((scope.spec.containers ?? []).map(({ name }) => name ?? ''));
  return (scope.spec.initContainers ?? []).flatMap((container, i) => {
    const at = `${path}[${i}]`;
    const { name = '', restartPolicy } = container;
    const errors = [...validateContainerParts(container, scope, at), ...validateRestartPolicy(container, 'init', at)];
    if (taken.has(name)) errors.push(duplicate(`${at}.name`, name));
    else if (name !== '') taken.add(name);
    append(errors, validateHostPorts([container], path));
    if (restartPolicy === 'Always') return [...errors, ...validateHooks(container, scope, at)];
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
      if (container[field] !== undefined) errors.push(forbidden(`${at}.${field}`, NOT_FOR_INIT));
    }
    if ((container.resizePolicy ?? []).length > 0) {
      errors.push(invalid(`${at}.resizePolicy`, container.resizePolicy, 'must not be set for init containers'));
    }
    return errors;
  });
}

function validateHooks(container: Container, { spec }: ContainerScope, path: string): FieldError[] {
  return [
    ...validateLifecycle(container.lifecycle, spec.terminationGracePeriodSeconds, `${path}.lifecycle`),
    ...validateStopSignal(container.lifecycle?.stopSignal, spec, `${path}.lifecycle.stopSignal`),
    ...validateProbe(container.livenessProbe, 'liveness', `${path}.livenessProbe`),
    ...validateProbe(container.readinessProbe, 'readiness', `${path}.readinessProbe`),
    ...validateProbe(container.startupProbe, 'startup', `${path}.startupProbe`),
  ];
}

/** Checks the fields that all kinds of containers have. */
export function validateContainerParts(
  container: Container,
  { spec, volumes }: ContainerScope,
  path: string,
): FieldError[] {
  const { name = '', image = '', terminationMessagePolicy = '', imagePullPolicy = '' } = container;
  const errors = name === '' ? [required(`${path}.name`)] : invalidAll(`${path}.name`, name, dns1123Label(name));
  if (image === '') errors.push(required(`${path}.image`));
  if (terminationMessagePolicy === '') errors.push(required(`${path}.terminationMessagePolicy`));
  else if (!MESSAGE_POLICIES.includes(terminationMessagePolicy)) {
    errors.push(unsupported(`${path}.terminationMessagePolicy`, terminationMessagePolicy, MESSAGE_POLICIES));
  }
  append(errors, [
    ...validatePorts(container.ports, `${path}.ports`),
    ...validateEnv(container.env, `${path}.env`),
    ...validateEnvFrom(container.envFrom, `${path}.envFrom`),
    ...validateVolumeMounts(container, volumes, `${path}.volumeMounts`),
    ...validateVolumeDevices(container, volumes, `${path}.volumeDevices`),
  ]);
  if (imagePullPolicy === '') errors.push(required(`${path}.imagePullPolicy`));
  else append(errors, oneOf(`${path}.imagePullPolicy`, imagePullPolicy, PULL_POLICIES));
  return [
    ...errors,
    ...validateResourceRequirements(container.resources, `${path}.resources`),
    ...validateContainerClaims(container.resources?.claims, spec, `${path}.resources.claims`),
    ...validateResizePolicy(container, spec.restartPolicy, `${path}.resizePolicy`),
    ...validateSecurityContext(container.securityContext, spec, `${path}.securityContext`),
  ];
}

function validatePorts(ports: readonly ContainerPort[] | undefined, path: string): FieldError[] {
  const names = new Set<string>();
  return (ports ?? []).flatMap((port, i) => {
    const at = `${path}[${i}]`;
    const { name = '', containerPort = 0, hostPort = 0, protocol = '' } = port;
    const errors: FieldError[] = [];
    if (name !== '') {
      const complaints = portName(name);
      if (complaints.length > 0) append(errors, invalidAll(`${at}.name`, name, complaints));
      else if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
      else names.add(name);
    }
    if (containerPort === 0) errors.push(required(`${at}.containerPort`));
    else append(errors, invalidAll(`${at}.containerPort`, containerPort, portNumber(containerPort)));
    if (hostPort !== 0) append(errors, invalidAll(`${at}.hostPort`, hostPort, portNumber(hostPort)));
    if (protocol === '') errors.push(required(`${at}.protocol`));
    else append(errors, oneOf(`${at}.protocol`, protocol, PROTOCOLS));
    return errors;
  });
}

function validateHostPorts(containers: readonly Container[], path: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap((container, i) =>
    (container.ports ?? []).flatMap(({ hostPort = 0, protocol = '', hostIP = '' }, j) => {
      if (hostPort === 0) return [];
      const claim = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(claim)) return [duplicate(`${path}[${i}].ports[${j}].hostPort`, claim)];
      taken.add(claim);
      return [];
    }),
  );
}

function validateResizePolicy(container: Container, podRestartPolicy: string | undefined, path: string): FieldError[] {
  const policies = container.resizePolicy ?? [];
  const isRepeated = repeatedAt(policies.map(({ resourceName = '' }) => resourceName));
  return policies.flatMap(({ resourceName = '', restartPolicy = '' }, i) => {
    const errors: FieldError[] = [];
    if (isRepeated(i)) {
      errors.push(duplicate(`${path}[${i}]`, resourceName));
    }
    if (resourceName === '') errors.push(required(path));
    else append(errors, oneOf(path, resourceName, RESIZABLE));
    if (restartPolicy === '') errors.push(required(path));
    else append(errors, oneOf(path, restartPolicy, RESIZE_POLICIES));
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      errors.push(invalid(path, restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    }
    return errors;
  });
}

/** Checks image names: spaces around them are rejected in pods but accepted in templates. */
export function validateImageSpaces(containers: readonly Container[] | undefined, path: string): FieldError[] {
  return (containers ?? []).flatMap(({ image = '' }, i) =>
    image === image.trim()
      ? []
      : [invalid(`${path}[${i}].image`, image, 'must not have leading or trailing whitespace')],
  );
}

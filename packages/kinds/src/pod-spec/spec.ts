import { append } from '@gantry/base';
import {
  dns1123Label,
  dns1123Subdomain,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  type PodSpec,
  qualifiedName,
  repeatedAt,
  required,
  tooLong,
} from '@gantry/objects';
import { validateAffinity } from './affinity.ts';
import { validateAmount } from './compute-resources.ts';
import { validateContainers, validateInitContainers } from './containers.ts';
import { validateFileVolumes } from './env.ts';
import { invalidAll, unsupported, validateLabels } from '@gantry/apimachinery';
import { validateEphemeralContainers } from './ephemeral-containers.ts';
import { validateHostAliases, validatePodDns } from './dns.ts';
import { validatePodResources } from './pod-resources.ts';
import { validatePodSecurityContext } from './security-context.ts';
import { validateTolerations } from './tolerations.ts';
import { validateTopologySpread } from './topology-spread.ts';
import { validateVolumes } from './volumes.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
/** The kernel's limit for hostnames. */
const MAX_HOSTNAME = 64;
const MAX_INT32 = 2147483647;

/** Checks the rules that Pods and templates share, in Kubernetes' order. */
export function validatePodSpec(spec: PodSpec, path: string): FieldError[] {
  const { errors, usable } = validateVolumes(spec.volumes, `${path}.volumes`);
  const scope = { spec, volumes: usable };
  return [
    ...errors,
    ...validateResourceClaims(spec, path),
    ...validateContainers(scope, `${path}.containers`),
    ...validateInitContainers(scope, `${path}.initContainers`),
    ...validateEphemeralContainers(scope, `${path}.ephemeralContainers`),
    ...validatePodResources(spec, `${path}.resources`),
    ...validateHostPorts(spec, path),
    ...validateClosed(spec.restartPolicy, RESTART_POLICIES, `${path}.restartPolicy`),
    ...validateClosed(spec.dnsPolicy, DNS_POLICIES, `${path}.dnsPolicy`),
    ...validateLabels(spec.nodeSelector, `${path}.nodeSelector`),
    ...validatePodSecurityContext(spec, `${path}.securityContext`),
    ...validateAffinity(spec.affinity, `${path}.affinity`),
    ...validatePodDns(spec, `${path}.dnsConfig`),
    ...validateGates(spec, path),
    ...validateTopologySpread(spec.topologySpreadConstraints, `${path}.topologySpreadConstraints`),
    ...validateHostUsers(spec, path),
    ...validateHostnameOverride(spec, `${path}.hostnameOverride`),
    ...validateNames(spec, path),
    ...validateTolerations(spec.tolerations, `${path}.tolerations`),
    ...validateHostAliases(spec.hostAliases, `${path}.hostAliases`),
    ...validateClasses(spec, path),
    ...validateFileVolumes(spec, path),
  ];
}

function validateClosed(value: string | undefined, values: readonly string[], path: string): FieldError[] {
  if (value === undefined || value === '') return [required(path)];
  return values.includes(value) ? [] : [unsupported(path, value, values)];
}

/** On the host network, a container's port must equal its host port. */
function validateHostPorts(spec: PodSpec, path: string): FieldError[] {
  if (spec.hostNetwork !== true) return [];
  return (spec.containers ?? []).flatMap(({ ports }, i) =>
    (ports ?? []).flatMap(({ hostPort = 0, containerPort }, j) =>
      hostPort === 0 || hostPort === containerPort
        ? []
        : [
            invalid(
              `${path}.containers[${i}].ports[${j}].hostPort`,
              hostPort,
              'must match `containerPort` when `hostNetwork` is true',
            ),
          ],
    ),
  );
}

/** A pod with its own user namespace must not use other namespaces of the host. */
function validateHostUsers(spec: PodSpec, path: string): FieldError[] {
  if (spec.hostUsers !== false) return [];
  const shared: [boolean | undefined, string][] = [
    [spec.hostNetwork, 'hostNetwork'],
    [spec.hostPID, 'HostPID'],
    [spec.hostIPC, 'HostIPC'],
  ];
  return shared.flatMap(([on, field]) =>
    on === true ? [forbidden(`${path}.${field}`, 'when `hostUsers` is false')] : [],
  );
}

/** Checks `hostnameOverride`: it excludes other hostname settings, and must fit the kernel's limit. */
function validateHostnameOverride(spec: PodSpec, path: string): FieldError[] {
  const { hostnameOverride, setHostnameAsFQDN, hostNetwork } = spec;
  if (hostnameOverride === undefined) return [];
  const errors: FieldError[] = [];
  if (setHostnameAsFQDN === true) errors.push(forbidden(path, 'may not be specified when setHostnameAsFQDN is true'));
  if (hostNetwork === true) errors.push(forbidden(path, 'may not be specified when hostNetwork is true'));
  if (hostnameOverride.length > MAX_HOSTNAME) errors.push(tooLong(path, MAX_HOSTNAME));
  return [...errors, ...invalidAll(path, hostnameOverride, dns1123Subdomain(hostnameOverride))];
}

function validateResourceClaims({ resourceClaims = [] }: PodSpec, path: string): FieldError[] {
  const isRepeated = repeatedAt(resourceClaims.map(({ name = '' }) => name));
  return resourceClaims.flatMap((claim, i) => {
    const at = `${path}.resourceClaims[${i}]`;
    const { name = '', resourceClaimName, resourceClaimTemplateName } = claim;
    const printed = {
      Name: name,
      ResourceClaimName: resourceClaimName ?? null,
      ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
    };
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(`${at}.name`));
    else if (isRepeated(i)) errors.push(duplicate(`${at}.name`, name));
    else append(errors, invalidAll(`${at}.name`, name, dns1123Label(name)));
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const detail = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(invalid(at, printed, detail));
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      const detail = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`';
      errors.push(invalid(at, printed, detail));
    }
    return errors;
  });
}

function validateGates(spec: PodSpec, path: string): FieldError[] {
  const gates = spec.schedulingGates ?? [];
  const isRepeated = repeatedAt(gates.map(({ name = '' }) => name));
  return [
    ...(spec.readinessGates ?? []).flatMap(({ conditionType = '' }, i) =>
      invalidAll(`${path}.readinessGates[${i}].conditionType`, conditionType, qualifiedName(conditionType)),
    ),
    ...gates.flatMap(({ name = '' }, i) => {
      const at = `${path}.schedulingGates[${i}]`;
      return [...invalidAll(at, name, qualifiedName(name)), ...(isRepeated(i) ? [duplicate(at, name)] : [])];
    }),
  ];
}

function validateNames(spec: PodSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const check = (field: keyof PodSpec, rule: (value: string) => string[]) => {
    const value = spec[field];
    if (typeof value === 'string' && value !== '') append(errors, invalidAll(`${path}.${field}`, value, rule(value)));
  };
  check('serviceAccountName', dns1123Subdomain);
  check('nodeName', dns1123Subdomain);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32)) {
    errors.push(invalid(`${path}.activeDeadlineSeconds`, deadline, `must be between 1 and ${MAX_INT32}, inclusive`));
  }
  check('hostname', dns1123Label);
  check('subdomain', dns1123Label);
  return errors;
}

function validateClasses(spec: PodSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { priorityClassName = '', runtimeClassName, preemptionPolicy, overhead = {}, os } = spec;
  if (priorityClassName !== '') {
    append(errors, invalidAll(`${path}.priorityClassName`, priorityClassName, dns1123Subdomain(priorityClassName)));
  }
  if (runtimeClassName !== undefined) {
    append(errors, invalidAll(`${path}.runtimeClassName`, runtimeClassName, dns1123Subdomain(runtimeClassName)));
  }
  if (preemptionPolicy !== undefined) {
    append(errors, validateClosed(preemptionPolicy, ['PreemptLowerPriority', 'Never'], `${path}.preemptionPolicy`));
  }
  for (const [name, amount] of Object.entries(overhead)) {
    append(errors, validateAmount(name, amount, `${path}.overhead[${name}]`));
  }
  const system = os?.name ?? '';
  if (os !== undefined && system === '') errors.push(required(`${path}.os.name`, 'cannot be empty'));
  else if (os !== undefined && system !== 'linux' && system !== 'windows') {
    errors.push(notSupported(`${path}.os`, system, ['linux', 'windows']));
  }
  return errors;
}

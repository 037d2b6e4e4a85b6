import { append } from '@gantry/base';
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  oneOf,
  type PodSecurityContext,
  type PodSpec,
  repeatedAt,
  required,
  type SeccompProfile,
  type SecurityContext,
  type Sysctl,
  userId,
} from '@gantry/objects';
import { PROFILE_TYPES, validateAppArmorProfile } from './app-armor.ts';
import { invalidAll } from '@gantry/apimachinery';
import { validateDescendingPath } from '../fields/file-paths.ts';

const SYSCTL_NAME = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const SYSCTL_MESSAGE =
  'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';

function validateId(id: number | undefined, path: string): FieldError[] {
  return id === undefined ? [] : invalidAll(path, id, userId(id));
}

function validateSeccompProfile(profile: SeccompProfile | undefined, path: string): FieldError[] {
  if (profile === undefined) return [];
  const { type = '', localhostProfile } = profile;
  const errors = validateProfileType(type, 'type is required when seccompProfile is set', `${path}.type`);
  if (type === 'Localhost') {
    if (localhostProfile === undefined) {
      errors.push(required(`${path}.localhostProfile`, 'must be set when seccomp type is Localhost '));
    } else {
      append(errors, validateDescendingPath(localhostProfile, `${path}.localhostProfile`));
    }
  } else if (localhostProfile !== undefined) {
    const value = { Type: type, LocalhostProfile: localhostProfile };
    errors.push(invalid(`${path}.localhostProfile`, value, 'can only be set when seccomp type is Localhost'));
  }
  return errors;
}

function validateProfileType(type: string, whenMissing: string, path: string): FieldError[] {
  if (type === '') return [required(path, whenMissing)];
  return oneOf(path, type, PROFILE_TYPES);
}

/** The rules on one container's security context, in a pod with this spec. */
export function validateSecurityContext(
  context: SecurityContext | undefined,
  { hostUsers }: Pick<PodSpec, 'hostUsers'>,
  path: string,
): FieldError[] {
  if (context === undefined) return [];
  const errors = [
    ...validateId(context.runAsUser, `${path}.runAsUser`),
    ...validateId(context.runAsGroup, `${path}.runAsGroup`),
  ];
  append(errors, validateProcMount(context.procMount, hostUsers, `${path}.procMount`));
  append(errors, validateSeccompProfile(context.seccompProfile, `${path}.seccompProfile`));
  if (context.allowPrivilegeEscalation === false) {
    const refuse = (what: string) =>
      invalid(path, context, `cannot set \`allowPrivilegeEscalation\` to false and ${what}`);
    if (context.privileged === true) errors.push(refuse('`privileged` to true'));
    for (const capability of context.capabilities?.add ?? []) {
      if (capability === 'CAP_SYS_ADMIN') errors.push(refuse('`capabilities.Add` CAP_SYS_ADMIN'));
    }
  }
  return [...errors, ...validateAppArmorProfile(context.appArmorProfile, `${path}.appArmorProfile`)];
}

function validateProcMount(type: string | undefined, hostUsers: boolean | undefined, path: string): FieldError[] {
  if (type === undefined || type === 'Default') return [];
  if (type !== 'Unmasked') return [notSupported(path, type, ['Default', 'Unmasked'])];
  return hostUsers === false ? [] : [invalid(path, type, '`hostUsers` must be false to use `Unmasked`')];
}

/** The rules on the pod's own security context. */
export function validatePodSecurityContext(spec: PodSpec, path: string): FieldError[] {
  const context = spec.securityContext;
  if (context === undefined) return [];
  const errors = [
    ...validateId(context.fsGroup, `${path}.fsGroup`),
    ...validateId(context.runAsUser, `${path}.runAsUser`),
    ...validateId(context.runAsGroup, `${path}.runAsGroup`),
  ];
  (context.supplementalGroups ?? []).forEach((id, i) => {
    append(errors, validateId(id, `${path}.supplementalGroups[${i}]`));
  });
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.push(invalid(`${path}.shareProcessNamespace`, true, detail));
  }
  append(errors, validateSysctls(context.sysctls ?? [], `${path}.sysctls`));
  append(errors, validatePolicies(context, path));
  append(errors, validateSeccompProfile(context.seccompProfile, `${path}.seccompProfile`));
  return [...errors, ...validateAppArmorProfile(context.appArmorProfile, `${path}.appArmorProfile`)];
}

function validatePolicies(context: PodSecurityContext, path: string): FieldError[] {
  const closed: [keyof PodSecurityContext, readonly string[]][] = [
    ['fsGroupChangePolicy', ['Always', 'OnRootMismatch']],
    ['supplementalGroupsPolicy', ['Merge', 'Strict']],
    ['seLinuxChangePolicy', ['MountOption', 'Recursive']],
  ];
  return closed.flatMap(([field, values]) => {
    const value = context[field];
    return value === undefined || values.includes(String(value))
      ? []
      : [notSupported(`${path}.${field}`, value, values)];
  });
}

function validateSysctls(sysctls: readonly Sysctl[], path: string): FieldError[] {
  const isRepeated = repeatedAt(sysctls.map(({ name = '' }) => name));
  return sysctls.flatMap(({ name = '' }, i) => {
    const at = `${path}[${i}].name`;
    if (name === '') return [required(at)];
    if (name.length > 253 || !SYSCTL_NAME.test(name)) return [invalid(at, name, SYSCTL_MESSAGE)];
    return isRepeated(i) ? [duplicate(at, name)] : [];
  });
}

import {
  type AppArmorProfile,
  type FieldError,
  type ObjectMeta,
  type Pod,
  type PodSpec,
  equalJson,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
  APP_ARMOR_PREFIX,
} from '@gantry/objects';
import { eachContainer } from './each-container.ts';

const LOCALHOST = 'localhost/';
/** Sources of AppArmor and seccomp profiles. */
export const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const ANNOTATION_OF: Readonly<Record<string, string>> = {
  Unconfined: 'unconfined',
  RuntimeDefault: 'runtime/default',
};
/** The maximum length of a path in Linux. */
const MAX_PROFILE_LENGTH = 4095;

/** The warning about an annotation that a field has replaced. */
export function oldAppArmorWarning(annotationsPath: string, key: string): string {
  return `${annotationsPath}[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
}

/** The profile in an annotation. */
export function appArmorProfileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const local = annotation.startsWith(LOCALHOST) ? annotation.slice(LOCALHOST.length) : '';
  return local === '' ? undefined : { type: 'Localhost', localhostProfile: local };
}

/** Copies profiles from annotations of new pods into the fields that replaced them. */
export function moveAppArmorAnnotations({ metadata, spec }: Pod, warn: (text: string) => void): void {
  const annotations = metadata.annotations ?? {};
  if (spec === undefined || spec.os?.name === 'windows') return;
  for (const [container] of eachContainer(spec, 'spec')) {
    const key = `${APP_ARMOR_PREFIX}${container.name}`;
    const annotation = annotations[key];
    if (annotation === undefined || container.securityContext?.appArmorProfile !== undefined) continue;
    const named = appArmorProfileOf(annotation);
    const profile = validateAppArmorProfile(named, '').length === 0 ? named : undefined;
    if (profile !== undefined && equalJson(profile, spec.securityContext?.appArmorProfile ?? {})) continue;
    if (profile !== undefined) container.securityContext = { ...container.securityContext, appArmorProfile: profile };
    warn(oldAppArmorWarning('metadata.annotations', key));
  }
}

export function validateAppArmorProfile(profile: AppArmorProfile | undefined, path: string): FieldError[] {
  if (profile === undefined) return [];
  const { type = '', localhostProfile } = profile;
  const at = `${path}.localhostProfile`;
  if (type === 'Localhost') {
    const missing = required(at, 'must be set when AppArmor type is Localhost');
    if (localhostProfile === undefined) return [missing];
    const errors: FieldError[] = [];
    if (localhostProfile.trim() !== localhostProfile) {
      errors.push(invalid(at, localhostProfile, 'must not be padded with whitespace'));
    } else if (localhostProfile === '') errors.push(missing);
    if (Buffer.byteLength(localhostProfile) > MAX_PROFILE_LENGTH) errors.push(tooLong(at, MAX_PROFILE_LENGTH));
    return errors;
  }
  if (type === '') return [required(`${path}.type`, 'type is required when appArmorProfile is set')];
  if (!PROFILE_TYPES.includes(type)) return [notSupported(`${path}.type`, type, PROFILE_TYPES)];
  return localhostProfile === undefined
    ? []
    : [invalid(at, localhostProfile, 'can only be set when AppArmor type is Localhost')];
}

/** Checks AppArmor annotations: their containers exist, and their profiles have the old form. */
export function validateAppArmorAnnotations(
  annotations: Readonly<Record<string, string>>,
  spec: PodSpec,
  path: string,
): FieldError[] {
  const names = new Set(eachContainer(spec, 'spec').map(([{ name }]) => name));
  return Object.entries(annotations).flatMap(([key, profile]) => {
    if (!key.startsWith(APP_ARMOR_PREFIX)) return [];
    const name = key.slice(APP_ARMOR_PREFIX.length);
    const errors = names.has(name) ? [] : [invalid(`${path}[${key}]`, name, 'container not found')];
    if (['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith(LOCALHOST)) return errors;
    return [
      ...errors,
      invalid(`${path}[${key}]`, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`),
    ];
  });
}

/** Checks that the annotation and the field of a container have the same profile. */
export function validateAppArmorAgrees(meta: ObjectMeta | undefined, spec: PodSpec, path: string): FieldError[] {
  if (spec.os?.name === 'windows') return [];
  return eachContainer(spec, path).flatMap(([{ name, securityContext }, containerPath]) => {
    const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
    const annotation = meta?.annotations?.[`${APP_ARMOR_PREFIX}${name}`];
    if (profile === undefined || annotation === undefined) return [];
    const at = `${containerPath}.securityContext.appArmorProfile`;
    const wrongType = [forbidden(`${at}.type`, 'apparmor type in annotation and field must match')];
    if (profile.type === 'Localhost') {
      if (!annotation.startsWith(LOCALHOST)) return wrongType;
      return annotation.slice(LOCALHOST.length) === profile.localhostProfile
        ? []
        : [forbidden(`${at}.localhostProfile`, 'apparmor profile in annotation and field must match')];
    }
    const expected = ANNOTATION_OF[profile.type];
    return expected === undefined || expected === annotation ? [] : wrongType;
  });
}

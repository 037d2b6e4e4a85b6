import { append } from '@gantry/base';
import {
  type FieldError,
  type ObjectMeta,
  type Pod,
  type PodSpec,
  type SeccompProfile,
  forbidden,
  invalid,
  MIRROR_ANNOTATION,
  DELETION_COST_ANNOTATION,
  SECCOMP_ANNOTATION,
  SECCOMP_PREFIX,
  APP_ARMOR_PREFIX,
} from '@gantry/objects';
import { validateAppArmorAgrees, validateAppArmorAnnotations } from './app-armor.ts';
import { eachContainer } from './each-container.ts';
import { validateDescendingPath } from '../fields/file-paths.ts';

const LOCALHOST = 'localhost/';
const MAX_INT32 = 2 ** 31;

/** Checks annotations of a pod or a template that Kubernetes itself reads. `path` is the path of the annotations. */
export function validatePodAnnotations(meta: ObjectMeta | undefined, spec: PodSpec, path: string): FieldError[] {
  const annotations = meta?.annotations ?? {};
  const errors: FieldError[] = [];
  const mirror = annotations[MIRROR_ANNOTATION];
  if (mirror !== undefined && (spec.nodeName ?? '') === '') {
    errors.push(
      invalid(`${path}[${MIRROR_ANNOTATION}]`, mirror, 'must set spec.nodeName if mirror pod annotation is set'),
    );
  }
  const cost = annotations[DELETION_COST_ANNOTATION];
  if (cost !== undefined && !isInt32(cost)) {
    errors.push(invalid(`${path}[${DELETION_COST_ANNOTATION}]`, cost, 'must be a 32bit integer'));
  }
  for (const [key, profile] of Object.entries(annotations)) {
    const isSeccomp = key === SECCOMP_ANNOTATION || key.startsWith(SECCOMP_PREFIX);
    if (isSeccomp) append(errors, validateSeccomp(profile, `${path}.${key}`));
  }
  return [...errors, ...validateAppArmorAnnotations(annotations, spec, path)];
}

/** An integer without a plus sign or leading zeros. */
function isInt32(text: string): boolean {
  return /^(?:0|-\d+|[1-9]\d*)$/.test(text) && Number(text) >= -MAX_INT32 && Number(text) < MAX_INT32;
}

function validateSeccomp(profile: string, path: string): FieldError[] {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return [];
  if (profile.startsWith(LOCALHOST)) return validateDescendingPath(profile.slice(LOCALHOST.length), path);
  return [invalid(path, profile, 'must be a valid seccomp profile')];
}

/** Checks that annotations and fields have the same seccomp and AppArmor profiles. `path` is the path of the spec. */
export function validateProfilesAgree(meta: ObjectMeta | undefined, spec: PodSpec, path: string): FieldError[] {
  const annotations = meta?.annotations ?? {};
  return [
    ...seccompAgrees(annotations[SECCOMP_ANNOTATION], spec.securityContext?.seccompProfile, `${path}.securityContext`),
    ...eachContainer(spec, path).flatMap(([{ name, securityContext }, at]) =>
      seccompAgrees(annotations[`${SECCOMP_PREFIX}${name}`], securityContext?.seccompProfile, `${at}.securityContext`),
    ),
    ...validateAppArmorAgrees(meta, spec, path),
  ];
}

function seccompAgrees(
  annotation: string | undefined,
  field: SeccompProfile | undefined,
  context: string,
): FieldError[] {
  if (annotation === undefined || field === undefined) return [];
  const at = `${context}.seccompProfile`;
  const wrongType = [forbidden(`${at}.type`, 'seccomp type in annotation and field must match')];
  switch (field.type) {
    case 'Unconfined':
      return annotation === 'unconfined' ? [] : wrongType;
    case 'RuntimeDefault':
      return annotation === 'runtime/default' || annotation === 'docker/default' ? [] : wrongType;
    case 'Localhost':
      if (!annotation.startsWith(LOCALHOST)) return wrongType;
      return annotation.slice(LOCALHOST.length) === field.localhostProfile
        ? []
        : [forbidden(`${at}.localhostProfile`, 'seccomp profile in annotation and field must match')];
    default:
      return [];
  }
}

/** Checks that immutable annotations of a pod are not added, removed or changed; the others are checked as on a new pod. */
export function validateAnnotationChange({ metadata, spec }: Pod, old: Pod): FieldError[] {
  const [after, before] = [metadata.annotations ?? {}, old.metadata.annotations ?? {}];
  const path = 'metadata.annotations';
  const errors: FieldError[] = [];
  const refuse = (key: string, verb: string) => {
    if (key.startsWith(APP_ARMOR_PREFIX))
      errors.push(forbidden(`${path}[${key}]`, `may not ${verb} AppArmor annotations`));
    if (key === MIRROR_ANNOTATION) errors.push(forbidden(`${path}[${key}]`, `may not ${verb} mirror pod annotation`));
  };
  for (const [key, value] of Object.entries(before)) if (after[key] !== value) refuse(key, 'remove or update');
  for (const key of Object.keys(after)) if (!(key in before)) refuse(key, 'add');
  return [...errors, ...validatePodAnnotations(metadata, spec ?? { containers: [] }, path)];
}

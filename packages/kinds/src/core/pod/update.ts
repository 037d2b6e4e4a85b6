import { append } from '@gantry/base';
import {
  type Container,
  type FieldError,
  type Pod,
  type PodSpec,
  type Toleration,
  equalJson,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import { cloneWithEmpty } from '@gantry/apimachinery';
import { diffLines } from '../../go-printing/line-diff.ts';
import { validateAnnotationChange } from '../../pod-spec/annotations.ts';
import { dumpPodSpec } from '../../go-printing/pod-spec-dump.ts';
import { validateTolerations } from '../../pod-spec/tolerations.ts';

const CHANGEABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');
const MAX_INT32 = 2147483647;

/** Checks an update of a pod: it may change images, shorten the deadline, add tolerations, and little else. */
export function validatePodChange(object: Pod, old: Pod): FieldError[] {
  const spec = object.spec ?? { containers: [] };
  const before = old.spec ?? { containers: [] };
  const errors = validateAnnotationChange(object, old);
  for (const field of ['containers', 'initContainers'] as const) {
    const path = `spec.${field}`;
    const containers = spec[field] ?? [];
    if (containers.length !== (before[field] ?? []).length) {
      return [...errors, forbidden(path, 'pod updates may not add or remove containers')];
    }
    append(errors, validateImages(containers, path));
  }
  const deadline = validateDeadline(spec.activeDeadlineSeconds, before.activeDeadlineSeconds);
  append(errors, deadline.errors);
  if (deadline.verdict === 'stop') return errors;
  append(errors, validateAddedTolerations(spec.tolerations ?? [], before.tolerations ?? []));
  append(errors, validateGates(spec, before));
  if (equalJson(spec, before)) return errors;
  const munged = withChangeableFrom(spec, before);
  if (equalJson(munged, before)) return errors;
  const difference = diffLines(dumpPodSpec(before), dumpPodSpec(munged));
  return [...errors, forbidden('spec', `pod updates may not change fields other than ${CHANGEABLE}\n${difference}`)];
}

function validateImages(containers: readonly Container[], path: string): FieldError[] {
  return containers.flatMap(({ image = '' }, i) => {
    const at = `${path}[${i}].image`;
    if (image === '') return [required(at)];
    return image === image.trim() ? [] : [invalid(at, image, 'must not have leading or trailing whitespace')];
  });
}

function validateDeadline(
  deadline: number | undefined,
  before: number | undefined,
): { errors: FieldError[]; verdict: 'stop' | 'go on' } {
  const path = 'spec.activeDeadlineSeconds';
  if (deadline === undefined) {
    const detail = 'must not update from a positive integer to nil value';
    return { errors: before === undefined ? [] : [invalid(path, null, detail)], verdict: 'go on' };
  }
  if (deadline < 0 || deadline > MAX_INT32) {
    return { errors: [invalid(path, deadline, `must be between 0 and ${MAX_INT32}, inclusive`)], verdict: 'stop' };
  }
  if (before !== undefined && before < deadline) {
    return { errors: [invalid(path, deadline, 'must be less than or equal to previous value')], verdict: 'stop' };
  }
  return { errors: [], verdict: 'go on' };
}

function validateAddedTolerations(tolerations: readonly Toleration[], before: readonly Toleration[]): FieldError[] {
  const idOf = ({ key, operator, value, effect }: Toleration) =>
    JSON.stringify([key ?? null, operator ?? null, value ?? null, effect ?? null]);
  const present = new Set(tolerations.map(idOf));
  const kept = before.every((old) => present.has(idOf(old)));
  if (!kept)
    return [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
  return validateTolerations(tolerations, 'spec.tolerations');
}

function validateGates(spec: PodSpec, before: PodSpec): FieldError[] {
  const old = new Set((before.schedulingGates ?? []).map(({ name }) => name));
  const added = (spec.schedulingGates ?? []).map(({ name }) => name).filter((name) => !old.has(name));
  if (added.length === 0) return [];
  return [
    forbidden('spec.schedulingGates', `only deletion is allowed, but found new scheduling gate '${added[0] ?? ''}'`),
  ];
}

/** `spec` with all changeable fields restored from `before`. */
function withChangeableFrom(spec: PodSpec, before: PodSpec): PodSpec {
  const munged = cloneWithEmpty(spec);
  for (const field of ['containers', 'initContainers'] as const) {
    (munged[field] ?? []).forEach((container, i) => {
      const image = before[field]?.[i]?.image;
      if (image === undefined) delete container.image;
      else container.image = image;
    });
  }
  for (const field of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'] as const) {
    if (before[field] === undefined) delete munged[field];
    else Object.assign(munged, { [field]: before[field] });
  }
  const grace = before.terminationGracePeriodSeconds;
  if (grace !== undefined && grace < 0 && munged.terminationGracePeriodSeconds === 1) {
    munged.terminationGracePeriodSeconds = grace;
  }
  if ((before.schedulingGates ?? []).length > 0) takeGatedChanges(munged, before);
  return munged;
}

/** A pod with scheduling gates may narrow its node selector: existing entries must stay. */
function takeGatedChanges(munged: PodSpec, before: PodSpec): void {
  const selector = munged.nodeSelector ?? {};
  const kept = Object.entries(before.nodeSelector ?? {}).every(([key, value]) => selector[key] === value);
  if (!kept) return;
  if (before.nodeSelector === undefined) delete munged.nodeSelector;
  else munged.nodeSelector = before.nodeSelector;
}

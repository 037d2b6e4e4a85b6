import { append } from '@gantry/base';
import {
  type FieldError,
  type LabelSelector,
  type PodTemplateSpec,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import {
  isEmptySelector,
  selectorMatches,
  unsupported,
  validateAnnotations,
  validateLabelSelector,
  validateLabels,
} from '@gantry/apimachinery';
import { validatePodAnnotations, validateProfilesAgree } from './annotations.ts';
import { validatePodSpec } from './spec.ts';

export function validatePodTemplate(template: PodTemplateSpec | undefined, path: string): FieldError[] {
  const { metadata, spec } = template ?? {};
  const errors = [
    ...validateLabels(metadata?.labels, `${path}.labels`),
    ...validateAnnotations(metadata?.annotations, `${path}.annotations`),
    ...validatePodAnnotations(metadata, spec ?? { containers: [] }, `${path}.annotations`),
    ...validatePodSpec(spec ?? { containers: [] }, `${path}.spec`),
    ...validateProfilesAgree(metadata, spec ?? { containers: [] }, `${path}.spec`),
  ];
  if ((spec?.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'));
  }
  return errors;
}

/** Checks the selector and template of a kind with replicas. A missing selector is treated as null. */
export function validateReplicatedTemplate(
  given: LabelSelector | null | undefined,
  template: PodTemplateSpec | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const selector = given ?? undefined;
  const faults = validateLabelSelector(selector, `${path}.selector`);
  if (selector === undefined) errors.push(required(`${path}.selector`));
  else {
    append(errors, faults);
    // The message names deployments for every kind, as in Kubernetes.
    if (isEmptySelector(selector))
      errors.push(invalid(`${path}.selector`, selector, 'empty selector is invalid for deployment'));
  }
  if (faults.length > 0) return [...errors, invalid(`${path}.selector`, selector, 'invalid label selector')];
  const labels = template?.metadata?.labels;
  const matches = selector !== undefined && (isEmptySelector(selector) || selectorMatches(selector, labels ?? {}));
  if (!matches) {
    const detail = '`selector` does not match template `labels`';
    errors.push(invalid(`${path}.template.metadata.labels`, labels ?? null, detail));
  }
  append(errors, validatePodTemplate(template, `${path}.template`));
  const { restartPolicy = 'Always', activeDeadlineSeconds } = template?.spec ?? {};
  if (restartPolicy !== 'Always') {
    errors.push(unsupported(`${path}.template.spec.restartPolicy`, restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = 'activeDeadlineSeconds in ReplicaSet is not Supported';
    errors.push(forbidden(`${path}.template.spec.activeDeadlineSeconds`, detail));
  }
  return errors;
}

import { append } from '@gantry/base';
import {
  type FieldError,
  type FieldSelectorAttributes,
  type FieldSelectorRequirement,
  type LabelSelectorAttributes,
  type NonResourceAttributes,
  type ObjectMeta,
  type ResourceAttributes,
  forbidden,
  invalid,
  required,
} from '@gantry/objects';
import { validateLabelRequirement } from '@gantry/apimachinery';

interface Attributes {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
}

/** Checks that a review has either a resource or a path. `askedFor` are the errors about its subject. */
export function validateAttributes(spec: Attributes, askedFor: readonly FieldError[] = []): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const errors: FieldError[] = [];
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    errors.push(invalid('spec.nonResourceAttributes', printedPath(nonResourceAttributes), detail));
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(invalid('spec.resourceAttributes', null, detail));
  }
  append(errors, askedFor);
  if (resourceAttributes === undefined) return errors;
  const path = 'spec.resourceAttributes';
  const { fieldSelector, labelSelector } = resourceAttributes;
  if (fieldSelector !== undefined) append(errors, validateFields(fieldSelector, `${path}.fieldSelector`));
  if (labelSelector !== undefined) append(errors, validateLabelAttributes(labelSelector, `${path}.labelSelector`));
  return errors;
}

/** Checks that the subject has a name or groups. */
export function validateSubject({ user = '', groups = [] }: { user?: string; groups?: string[] }): FieldError[] {
  if (user !== '' || groups.length > 0) return [];
  return [invalid('spec.user', user, 'at least one of user or group must be specified')];
}

/** Checks that a review has no metadata, except for the namespace to which it was posted, if it has one. */
export function validateNoMetadata(metadata: ObjectMeta, but: 'nothing' | 'namespace' = 'nothing'): FieldError[] {
  const { managedFields: _, namespace = '', ...rest } = metadata;
  const given = Object.values(rest).some((value) => !isEmpty(value)) || (but === 'nothing' && namespace !== '');
  if (!given) return [];
  return [invalid('metadata', metadata, but === 'nothing' ? 'must be empty' : 'must be empty except for namespace')];
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export function printedPath({ path = '', verb = '' }: NonResourceAttributes): object {
  return { Path: path, Verb: verb };
}

function validateSelector(
  { rawSelector = '', requirements = [] }: FieldSelectorAttributes | LabelSelectorAttributes,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (rawSelector !== '' && requirements.length > 0) {
    errors.push(invalid(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'));
  }
  if (rawSelector === '' && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`;
    errors.push(required(`${path}.requirements`, detail));
  }
  return errors;
}

function validateFields(selector: FieldSelectorAttributes, path: string): FieldError[] {
  const each = (selector.requirements ?? []).flatMap((one, i) => validateField(one, `${path}.requirements[${i}]`));
  return [...validateSelector(selector, path), ...each];
}

function validateField({ key = '', operator = '', values = [] }: FieldSelectorRequirement, path: string): FieldError[] {
  const errors = key === '' ? [required(`${path}.key`, 'must be specified')] : [];
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
    errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  }
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
    errors.push(forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  }
  return errors;
}

function validateLabelAttributes(selector: LabelSelectorAttributes, path: string): FieldError[] {
  const each = (selector.requirements ?? []).flatMap((requirement, i) =>
    validateLabelRequirement(requirement, `${path}.requirements[${i}]`, 'any'),
  );
  return [...validateSelector(selector, path), ...each];
}

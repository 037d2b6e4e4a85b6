import { append } from '@gantry/base';
import {
  type FieldError,
  type PersistentVolumeClaimSpec,
  dns1123Label,
  dns1123Subdomain,
  equalJson,
  forbidden,
  invalid,
  notSupported,
  parseQuantity,
  required,
  oneOf,
} from '@gantry/objects';
import { invalidAll, validateLabelSelector } from '@gantry/apimachinery';

export const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];

type Source = NonNullable<PersistentVolumeClaimSpec['dataSourceRef']>;

/** The defaults of a claim's spec, its own or that of a template. Idempotent. */
export function defaultClaimSpec(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
}

/** The rules on the spec of a claim, its own or that of a template (of a StatefulSet, of an ephemeral volume). */
export function validateClaimSpec(spec: PersistentVolumeClaimSpec, path: string): FieldError[] {
  const { storageClassName = '', volumeMode, volumeAttributesClassName = '' } = spec;
  const errors = [
    ...validateAccessModes(spec.accessModes ?? [], path),
    ...validateStorage(spec, `${path}.resources[storage]`),
    ...(storageClassName === ''
      ? []
      : invalidAll(`${path}.storageClassName`, storageClassName, dns1123Subdomain(storageClassName))),
  ];
  append(errors, oneOf(`${path}.volumeMode`, volumeMode, VOLUME_MODES));
  append(errors, validateSources(spec, path));
  if (volumeAttributesClassName !== '') {
    const at = `${path}.volumeAttributesClassName`;
    append(errors, invalidAll(at, volumeAttributesClassName, dns1123Subdomain(volumeAttributesClassName)));
  }
  return spec.selector === undefined
    ? errors
    : [
        ...errors.filter(isAboutNoModes),
        ...validateLabelSelector(spec.selector, `${path}.selector`),
        ...errors.filter((error) => !isAboutNoModes(error)),
      ];
}

/** Kubernetes checks the selector after the presence of access modes and before their values. */
function isAboutNoModes({ type, field }: FieldError): boolean {
  return type === 'FieldValueRequired' && field.endsWith('.accessModes');
}

function validateAccessModes(modes: readonly string[], path: string): FieldError[] {
  const at = `${path}.accessModes`;
  if (modes.length === 0) return [required(at, 'at least 1 access mode is required')];
  return validateModes(modes, at);
}

/** Checks access modes, for claims and volumes. */
export function validateModes(modes: readonly string[], at: string): FieldError[] {
  const errors = modes
    .filter((mode) => !ACCESS_MODES.includes(mode))
    .map((mode) => notSupported(at, mode, ACCESS_MODES));
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode));
  if (modes.includes('ReadWriteOncePod') && others.length > 0) {
    errors.push(forbidden(at, 'may not use ReadWriteOncePod with other access modes'));
  }
  return errors;
}

function validateStorage({ resources }: PersistentVolumeClaimSpec, path: string): FieldError[] {
  const amount = resources?.requests?.['storage'];
  if (amount === undefined) return [required(path)];
  return parseQuantity(amount).nano > 0n ? [] : [invalid(path, amount, 'must be greater than zero')];
}

function validateSources({ dataSource, dataSourceRef }: PersistentVolumeClaimSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (dataSource !== undefined) append(errors, validateSource(dataSource, `${path}.dataSource`));
  if (dataSourceRef !== undefined) append(errors, validateSource(dataSourceRef, `${path}.dataSourceRef`));
  if (dataSource === undefined || dataSourceRef === undefined) return errors;
  if ((dataSourceRef.namespace ?? '') !== '') {
    errors.push(invalid(path, {}, 'may not be specified when dataSourceRef.namespace is specified'));
  } else if (!equalJson(dataSource, { ...dataSourceRef, namespace: undefined })) {
    errors.push(invalid(path, {}, 'must match dataSourceRef'));
  }
  return errors;
}

function validateSource({ name = '', kind = '', namespace = '', ...rest }: Source, path: string): FieldError[] {
  const apiGroup = rest.apiGroup ?? '';
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`));
  if (kind === '') errors.push(required(`${path}.kind`));
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
    errors.push(invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  } else if (apiGroup !== '') append(errors, invalidAll(`${path}.apiGroup`, apiGroup, dns1123Subdomain(apiGroup)));
  if (namespace !== '') append(errors, invalidAll(`${path}.namespace`, namespace, dns1123Label(namespace)));
  return errors;
}

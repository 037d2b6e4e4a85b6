import { append } from '@gantry/base';
import {
  type ConfigMapKeySelector,
  type EnvFromSource,
  type EnvVar,
  type EnvVarSource,
  type FieldError,
  type FileKeySelector,
  type PodSpec,
  configKey,
  dns1123Label,
  dns1123Subdomain,
  envVarName,
  invalid,
  required,
  subdomainName,
} from '@gantry/objects';
import { eachContainer } from './each-container.ts';
import { ENV_FIELDS, validateFieldRef, validateResourceFieldRef } from './downward-api.ts';
import { invalidAll, notFound } from '@gantry/apimachinery';
import { validateNoBacksteps } from '../fields/file-paths.ts';

const ONE_OF = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
const ONLY_ONE = 'may not have more than one field specified at a time';
const NOT_EMPTY_DIR = 'referenced volume must be of type emptyDir';

export function validateEnv(variables: readonly EnvVar[] | undefined, path: string): FieldError[] {
  return (variables ?? []).flatMap((variable, i) => {
    const { name = '', value = '', valueFrom } = variable;
    const at = `${path}[${i}]`;
    return [
      ...(name === '' ? [required(`${at}.name`)] : invalidAll(`${at}.name`, name, envVarName(name))),
      ...(valueFrom === undefined ? [] : validateValueFrom(valueFrom, value, `${at}.valueFrom`)),
    ];
  });
}

function validateValueFrom(source: EnvVarSource, value: string, path: string): FieldError[] {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const errors: FieldError[] = [];
  if (fieldRef !== undefined) append(errors, validateFieldRef(fieldRef, ENV_FIELDS, `${path}.fieldRef`));
  if (resourceFieldRef !== undefined) {
    append(errors, validateResourceFieldRef(resourceFieldRef, 'container', `${path}.resourceFieldRef`));
  }
  if (configMapKeyRef !== undefined) append(errors, validateKeyRef(configMapKeyRef, `${path}.configMapKeyRef`));
  if (secretKeyRef !== undefined) append(errors, validateKeyRef(secretKeyRef, `${path}.secretKeyRef`));
  if (fileKeyRef !== undefined) append(errors, validateFileKeyRef(fileKeyRef, `${path}.fileKeyRef`));
  const given = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(
    (ref) => ref !== undefined,
  );
  if (given.length === 0) errors.push(invalid(path, '', ONE_OF));
  else if (value !== '') errors.push(invalid(path, '', 'may not be specified when `value` is not empty'));
  else if (given.length > 1) errors.push(invalid(path, '', ONLY_ONE));
  return errors;
}

function validateFileKeyRef(
  { volumeName = '', path: file = '', key = '' }: FileKeySelector,
  path: string,
): FieldError[] {
  return [
    ...(key === '' ? [required(`${path}.key`)] : invalidAll(`${path}.key`, key, envVarName(key))),
    ...(volumeName === ''
      ? [required(`${path}.volumeName`)]
      : invalidAll(`${path}.volumeName`, volumeName, dns1123Label(volumeName))),
    ...(file === '' ? [required(`${path}.path`)] : validateNoBacksteps(file, `${path}.path`)),
  ];
}

/** Checks the volumes of variables from files: they must be emptyDir volumes of the pod. Applies to all kinds of containers. */
export function validateFileVolumes(spec: PodSpec, path: string): FieldError[] {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  return eachContainer(spec, path).flatMap(([{ env = [] }, at]) =>
    env.flatMap(({ valueFrom }, i) => {
      if (valueFrom?.fileKeyRef === undefined) return [];
      const { volumeName = '' } = valueFrom.fileKeyRef;
      const field = `${at}.env[${i}].valueFrom.fileKeyRef.volumeName`;
      const volume = volumes.get(volumeName);
      if (volume === undefined) return [notFound(field, volumeName)];
      return volume.emptyDir === undefined ? [invalid(field, volumeName, NOT_EMPTY_DIR)] : [];
    }),
  );
}

function validateKeyRef(selector: ConfigMapKeySelector, path: string): FieldError[] {
  const { name = '', key = '' } = selector;
  return [
    ...invalidAll(`${path}.name`, name, dns1123Subdomain(name)),
    ...(key === '' ? [required(`${path}.key`)] : invalidAll(`${path}.key`, key, configKey(key))),
  ];
}

export function validateEnvFrom(sources: readonly EnvFromSource[] | undefined, path: string): FieldError[] {
  return (sources ?? []).flatMap((source, i) => {
    const at = `${path}[${i}]`;
    const { prefix = '', configMapRef, secretRef } = source;
    const errors = prefix === '' ? [] : invalidAll(`${at}.prefix`, prefix, envVarName(prefix));
    if (configMapRef !== undefined) append(errors, validateRef(configMapRef.name, `${at}.configMapRef.name`));
    if (secretRef !== undefined) append(errors, validateRef(secretRef.name, `${at}.secretRef.name`));
    if (configMapRef === undefined && secretRef === undefined) {
      errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      errors.push(invalid(path, '', ONLY_ONE));
    }
    return errors;
  });
}

function validateRef(name: string | undefined, path: string): FieldError[] {
  if (name === undefined || name === '') return [required(path)];
  // Kubernetes checks these as name prefixes.
  return invalidAll(path, name, subdomainName(name, true));
}

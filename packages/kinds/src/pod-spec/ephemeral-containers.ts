import {
  type Container,
  type EphemeralContainer,
  type FieldError,
  type Pod,
  duplicate,
  equalJson,
  forbidden,
  MIRROR_ANNOTATION,
} from '@gantry/objects';
import { type ContainerScope, validateContainerParts, validateImageSpaces } from './containers.ts';
import { notFound } from '@gantry/apimachinery';

/** Fields that an ephemeral container must not have, in the order of Kubernetes' type. */
const REFUSED = ['ports', 'resources', 'restartPolicy', 'restartPolicyRules', 'resizePolicy'] as const;
const REFUSED_HOOKS = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'] as const;
const NOT_HERE = 'cannot be set for an Ephemeral Container';

/** The rules on a pod's ephemeral containers. */
export function validateEphemeralContainers(scope: ContainerScope, path: string): FieldError[] {
  const { containers, initContainers, ephemeralContainers } = scope.spec;
  const others = new Set([...(containers ?? []), ...(initContainers ?? [])].map(({ name }) => name ?? ''));
  const taken = new Set(others);
  return (ephemeralContainers ?? []).flatMap((container, i) => {
    const at = `${path}[${i}]`;
    const { name = '', targetContainerName = '' } = container;
    const errors = [
      ...validateContainerParts(container, scope, at),
      ...validateImageSpaces([container as Container], path).map((error) => ({ ...error, field: `${at}.image` })),
    ];
    if (taken.has(name)) errors.push(duplicate(`${at}.name`, name));
    taken.add(name);
    if (targetContainerName !== '' && !others.has(targetContainerName)) {
      errors.push(notFound(`${at}.targetContainerName`, targetContainerName));
    }
    return [...errors, ...validateFields(container, at)];
  });
}

function validateFields(container: EphemeralContainer, path: string): FieldError[] {
  const isSet = (value: unknown) =>
    value !== undefined && value !== null && (typeof value !== 'object' || Object.keys(value).length > 0);
  const errors = [...REFUSED, ...REFUSED_HOOKS]
    .filter((field) => isSet(container[field]))
    .map((field) => forbidden(`${path}.${field}`, NOT_HERE));
  (container.volumeMounts ?? []).forEach(({ subPath = '', subPathExpr = '' }, i) => {
    if (subPath !== '') errors.push(forbidden(`${path}.volumeMounts[${i}].subPath`, NOT_HERE));
    if (subPathExpr !== '') errors.push(forbidden(`${path}.volumeMounts[${i}].subPathExpr`, NOT_HERE));
  });
  return errors;
}

/** Checks an update through the subresource: existing ephemeral containers must not change. */
export function validateEphemeralChange(object: Pod, old: Pod): FieldError[] {
  if (old.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined) {
    return [forbidden('', 'static pods do not support ephemeral containers')];
  }
  const path = 'spec.ephemeralContainers';
  const now = object.spec?.ephemeralContainers ?? [];
  return (old.spec?.ephemeralContainers ?? []).flatMap((container) => {
    const quoted = JSON.stringify(container.name);
    const same = now.find(({ name }) => name === container.name);
    if (same === undefined) return [forbidden(path, `existing ephemeral containers ${quoted} may not be removed\n`)];
    return equalJson(same, container)
      ? []
      : [forbidden(path, `existing ephemeral containers ${quoted} may not be changed\n`)];
  });
}

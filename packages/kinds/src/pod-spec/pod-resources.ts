import { append } from '@gantry/base';
import {
  type FieldError,
  type PodSpec,
  containerAmounts,
  forbidden,
  invalid,
  isPodLevelResource,
} from '@gantry/objects';
import { unsupported } from '@gantry/apimachinery';
import { compareAmounts } from '../fields/quota.ts';
import { isHugePages, validateAnyResourceName, validateResourceRequirements } from './compute-resources.ts';

/** Checks pod-level resources, and the containers' resources against them. */
export function validatePodResources(spec: PodSpec, path: string): FieldError[] {
  const { resources } = spec;
  if (resources === undefined) return [];
  if (spec.os?.name === 'windows') return [forbidden(path, 'may not be set for a windows pod')];
  return [
    ...(resources.claims === undefined
      ? []
      : [forbidden(`${path}.claims`, 'claims may not be set for Resources at pod-level')]),
    ...validateResourceRequirements(resources, path, validateName),
    ...validateAggregates(spec, path),
    ...validateContainerLimits(spec, path),
  ];
}

function validateName(name: string, path: string): FieldError[] {
  const errors = validateAnyResourceName(name, path);
  if (errors.length > 0 || isPodLevelResource(name)) return errors;
  return [unsupported(path, name, ['cpu', 'hugepages-', 'memory'])];
}

/** A pod's requests must be at least the sum of its containers' requests; huge pages limits too. */
function validateAggregates(spec: PodSpec, path: string): FieldError[] {
  return (['requests', 'limits'] as const).flatMap((of) =>
    Object.entries(containerAmounts(spec, of)).flatMap(([name, together]) => {
      const own = spec.resources?.[of]?.[name];
      if (own === undefined || (of === 'limits' && !isHugePages(name)) || compareAmounts(together, own) <= 0) return [];
      const detail = `must be greater than or equal to aggregate container ${of} of ${together}`;
      return [invalid(`${path}.${of}[${name}]`, own, detail)];
    }),
  );
}

/** A container's limit must not exceed its pod's. The paths of errors are Kubernetes'. */
function validateContainerLimits(spec: PodSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, { resources }] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(resources?.limits ?? {})) {
      const ofPod = spec.resources?.limits?.[name];
      if (ofPod === undefined || compareAmounts(limit, ofPod) <= 0) continue;
      const detail = `must be less than or equal to pod limits of ${ofPod}`;
      append(errors, [invalid(`${path}.containers[${i}][${name}].limits`, limit, detail)]);
    }
  }
  return errors;
}

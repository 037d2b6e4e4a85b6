import {
  type FieldError,
  type Service,
  forbidden,
  invalid,
  OLD_TOPOLOGY_MODE_ANNOTATION,
  TOPOLOGY_MODE_ANNOTATION,
} from '@gantry/objects';
import { validateCidr } from '../../fields/ip.ts';

const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/** Two annotations of one meaning must not say different things. */
export function validateTopology({ metadata: { annotations = {} } }: Service): FieldError[] {
  const { [OLD_TOPOLOGY_MODE_ANNOTATION]: hints, [TOPOLOGY_MODE_ANNOTATION]: mode } = annotations;
  if (hints === undefined || mode === undefined || hints === mode) return [];
  const detail = `must match annotations[${OLD_TOPOLOGY_MODE_ANNOTATION}] when both are specified`;
  return [invalid(`metadata.annotations[${TOPOLOGY_MODE_ANNOTATION}]`, mode, detail)];
}

/** The annotation that says which clients a load balancer serves: it counts where the field is empty. What `old` had may stay. */
export function validateSourceRangesAnnotation({ metadata, spec }: Service, old?: Service): FieldError[] {
  const value = metadata.annotations?.[SOURCE_RANGES];
  if (value === undefined || (spec?.loadBalancerSourceRanges ?? []).length > 0) return [];
  const path = `metadata.annotations[${SOURCE_RANGES}]`;
  const errors: FieldError[] = [];
  if (spec?.type !== 'LoadBalancer') errors.push(forbidden(path, "may only be used when `type` is 'LoadBalancer'"));
  if (value.trim() === '' || old?.metadata.annotations?.[SOURCE_RANGES] === value) return errors;
  return [...errors, ...value.split(',').flatMap((range) => validateCidr(range.trim(), path))];
}

import { type FieldError, type Service, forbidden, invalid } from '@gantry/objects';
import { validateCidr } from '../../fields/ip.ts';

const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MODE = 'service.kubernetes.io/topology-mode';
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/** Two annotations of one meaning must not say different things. */
export function validateTopology({ metadata: { annotations = {} } }: Service): FieldError[] {
  const { [HINTS]: hints, [MODE]: mode } = annotations;
  if (hints === undefined || mode === undefined || hints === mode) return [];
  const detail = `must match annotations[${HINTS}] when both are specified`;
  return [invalid(`metadata.annotations[${MODE}]`, mode, detail)];
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

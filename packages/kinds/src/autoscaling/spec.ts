import { append } from '@gantry/base';
import {
  type FieldError,
  type HPAScalingRules as ScalingRules,
  type HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerSpec as Spec,
  invalid,
  parseQuantity,
  required,
  oneOf,
} from '@gantry/objects';
import { validateMetrics } from './metrics.ts';
import { type ApiVersionRule, apiVersionFault, validateReference } from './scale-target.ts';
import { nonNegative } from '@gantry/apimachinery';

const MAX_PERIOD_SECONDS = 1800;
const MAX_WINDOW_SECONDS = 3600;
const SELECT_POLICIES = ['Disabled', 'Max', 'Min'];
const POLICY_TYPES = ['Percent', 'Pods'];

/** Checks an autoscaler; a stored one may keep what was allowed when it was created. */
export function validateAutoscaler(object: HorizontalPodAutoscaler, old?: HorizontalPodAutoscaler): FieldError[] {
  const spec: Partial<Spec> = object.spec ?? {};
  const { minReplicas, maxReplicas = 0, behavior } = spec;
  const least = old?.spec?.minReplicas === 0 ? 0 : 1;
  const errors: FieldError[] = [];
  if (minReplicas !== undefined && minReplicas < least) {
    errors.push(invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${least}`));
  }
  if (maxReplicas === 0) errors.push(required('spec.maxReplicas', 'must be set and greater than 0'));
  else if (maxReplicas < 0) {
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'));
  }
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'));
  }
  return [
    ...errors,
    ...validateReference(spec.scaleTargetRef, targetRule(object, old), 'spec.scaleTargetRef'),
    ...validateMetrics(spec, metricRule(old), 'spec.metrics'),
    ...validateScaling(behavior?.scaleUp, 'spec.behavior.scaleUp'),
    ...validateScaling(behavior?.scaleDown, 'spec.behavior.scaleDown'),
  ];
}

function targetRule(object: HorizontalPodAutoscaler, old: HorizontalPodAutoscaler | undefined): ApiVersionRule {
  const target = object.spec?.scaleTargetRef;
  const before = old?.spec?.scaleTargetRef;
  if (old !== undefined && before?.apiVersion === target?.apiVersion && before?.kind === target?.kind) return 'any';
  return target?.kind === 'ReplicationController' ? 'formed' : 'grouped';
}

function metricRule(old: HorizontalPodAutoscaler | undefined): ApiVersionRule {
  const wasWrong = (old?.spec?.metrics ?? []).some(
    ({ type, object }) =>
      type === 'Object' && object !== undefined && apiVersionFault(object.describedObject, 'formed') !== undefined,
  );
  return wasWrong ? 'any' : 'formed';
}

function validateScaling(rules: ScalingRules | undefined, path: string): FieldError[] {
  if (rules === undefined) return [];
  const { stabilizationWindowSeconds: seconds, selectPolicy, tolerance } = rules;
  const policies = rules.policies ?? [];
  const errors: FieldError[] = [];
  const window = `${path}.stabilizationWindowSeconds`;
  if (seconds !== undefined && seconds < 0) {
    errors.push(invalid(window, seconds, 'must be greater than or equal to zero'));
  }
  if (seconds !== undefined && seconds > MAX_WINDOW_SECONDS) {
    errors.push(invalid(window, seconds, `must be less than or equal to ${MAX_WINDOW_SECONDS}`));
  }
  append(errors, oneOf(`${path}.selectPolicy`, selectPolicy, SELECT_POLICIES));
  if (policies.length === 0) errors.push(required(`${path}.policies`, 'must specify at least one Policy'));
  policies.forEach(({ type = '', value = 0, periodSeconds = 0 }, i) => {
    const at = `${path}.policies[${i}]`;
    append(errors, oneOf(`${at}.type`, type, POLICY_TYPES));
    if (value <= 0) errors.push(invalid(`${at}.value`, value, 'must be greater than zero'));
    const period = `${at}.periodSeconds`;
    if (periodSeconds <= 0) errors.push(invalid(period, periodSeconds, 'must be greater than zero'));
    if (periodSeconds > MAX_PERIOD_SECONDS) {
      errors.push(invalid(period, periodSeconds, `must be less than or equal to ${MAX_PERIOD_SECONDS}`));
    }
  });
  if (tolerance !== undefined && parseQuantity(tolerance).nano < 0n) {
    errors.push(invalid(`${path}.tolerance`, tolerance, 'must be greater than or equal to 0'));
  }
  return errors;
}

/** Checks the fields that the controller writes. */
export function validateAutoscalerStatus({ status }: HorizontalPodAutoscaler): FieldError[] {
  return [
    ...nonNegative('status.currentReplicas', status?.currentReplicas),
    ...nonNegative('status.desiredReplicas', status?.desiredReplicas),
  ];
}

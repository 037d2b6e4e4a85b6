import { type Container, type FieldError, required, oneOf } from '@gantry/objects';
import { append } from '@gantry/base';

const POLICIES = ['Always', 'Never', 'OnFailure'];
const ACTIONS = ['Restart', 'RestartAllContainers'];
const OPERATORS = ['In', 'NotIn'];
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;

function tooMany(field: string, value: number, max: number): FieldError {
  return { type: 'FieldValueTooMany', field, value, detail: `must have at most ${max} items` };
}

/**
 * The rules on when one container is started again (Kubernetes: validateContainerRestartPolicy). A sidecar has them too: by them its exit
 * restarts all containers.
 */
export function validateRestartPolicy(
  { restartPolicy, restartPolicyRules: rules = [] }: Container,
  kind: 'init' | 'main',
  path: string,
): FieldError[] {
  const field = `${path}.restartPolicyRules`;
  const errors: FieldError[] = [];
  if (restartPolicy === undefined) {
    if (rules.length === 0) return [];
    errors.push(required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
    // Kubernetes looks at the rules of an init container only beside a policy.
    if (kind === 'init') return errors;
  } else append(errors, oneOf(`${path}.restartPolicy`, restartPolicy, POLICIES));
  if (rules.length > MAX_RULES) errors.push(tooMany(field, rules.length, MAX_RULES));
  rules.forEach((rule, i) => append(errors, validateRule(rule, `${field}[${i}]`)));
  return errors;
}

function validateRule(
  { action, exitCodes }: NonNullable<Container['restartPolicyRules']>[number],
  path: string,
): FieldError[] {
  const errors = oneOf(`${path}.action`, action, ACTIONS);
  if (exitCodes === undefined) return [...errors, required(`${path}.exitCodes`, 'must be specified')];
  const { operator, values = [] } = exitCodes;
  append(errors, oneOf(`${path}.exitCodes.operator`, operator, OPERATORS));
  if (values.length > MAX_EXIT_CODES) {
    errors.push(tooMany(`${path}.exitCodes.values`, values.length, MAX_EXIT_CODES));
  }
  return errors;
}

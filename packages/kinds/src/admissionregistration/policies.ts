import { Allowance } from '@gantry/cel';
import { append } from '@gantry/base';
import {
  type AuditAnnotation,
  duplicate,
  equalJson,
  type FieldError,
  invalid,
  type MatchCondition,
  type MatchResources,
  type MutatingAdmissionPolicySpec,
  type Mutation,
  notSupported,
  oneOf,
  type ParamKind,
  type ParamRef,
  qualifiedName,
  repeatedAt,
  required,
  type ValidatingAdmissionPolicySpec,
  type Validation,
  type Variable,
} from '@gantry/objects';
import { type Column, column, formatLabelSelector, invalidAll } from '@gantry/apimachinery';
import {
  type ExpressionCheck,
  type ExpressionContext,
  createExpressionCheck,
  type Params,
  validateMatchConditions,
} from './expressions.ts';
import {
  REINVOCATION_POLICIES,
  validateFailurePolicy,
  validateMatchConstraints,
  validateMutableOperations,
  validateParamKind,
} from './match-resources.ts';

const MAX_AUDIT_ANNOTATIONS = 20;
const MAX_VALUE_EXPRESSION_BYTES = 5 * 1024;
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const NOTHING_TO_DO = 'validations or auditAnnotations must contain at least one item';

/** What validating and mutating policies have in common. */
interface PolicySpec {
  readonly failurePolicy?: string;
  readonly matchConditions?: MatchCondition[];
  readonly matchConstraints?: MatchResources;
  readonly paramKind?: ParamKind;
  readonly variables?: Variable[];
}

function paramsOf({ paramKind }: PolicySpec): Params {
  return paramKind === undefined ? 'without params' : 'with params';
}

/** Whether the conditions are unchanged, so that they need not be checked again. */
function keepsConditions(spec: PolicySpec, old: PolicySpec | undefined): boolean {
  if (old === undefined) return false;
  return equalJson(conditionsOf(spec), conditionsOf(old));
}

function conditionsOf({ paramKind, matchConditions = [] }: PolicySpec): object {
  return { paramKind: paramKind ?? null, matchConditions };
}

/** All expressions of a policy share one cost allowance. An unchanged policy has none. */
function contextOf(spec: PolicySpec, old: PolicySpec | undefined): ExpressionContext {
  const isStored = old !== undefined && equalJson(spec, old);
  return { params: paramsOf(spec), allowance: isStored ? undefined : new Allowance() };
}

function validateConditions(spec: PolicySpec, old: PolicySpec | undefined, context: ExpressionContext): FieldError[] {
  if (keepsConditions(spec, old)) return [];
  return validateMatchConditions(spec.matchConditions, context, 'spec.matchConditions');
}

function validateVariables(spec: PolicySpec, check: ExpressionCheck): FieldError[] {
  return (spec.variables ?? []).flatMap((variable, i) => check.declare(variable, `spec.variables[${i}]`));
}

/** Checks a validating policy; `old` is the stored spec of an update. */
export function validateValidatingPolicy(
  name: string | undefined,
  spec: ValidatingAdmissionPolicySpec,
  old: ValidatingAdmissionPolicySpec | undefined,
): FieldError[] {
  const context = contextOf(spec, old);
  const check = createExpressionCheck(
    context,
    'values',
    (spec.variables ?? []).length > 0 ? 'variables' : 'no variables',
  );
  const errors = [
    ...validateFailurePolicy(spec.failurePolicy, 'spec.failurePolicy'),
    ...validateParamKind(spec.paramKind, 'spec.paramKind'),
    ...validateMatchConstraints(spec.matchConstraints, 'spec.matchConstraints'),
    ...validateConditions(spec, old, context),
    ...validateVariables(spec, check),
  ];
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length + auditAnnotations.length === 0) {
    errors.push(required('spec.validations', NOTHING_TO_DO), required('spec.auditAnnotations', NOTHING_TO_DO));
    return errors;
  }
  append(
    errors,
    validations.flatMap((one, i) => validateValidation(one, check, `spec.validations[${i}]`)),
  );
  if (auditAnnotations.length > MAX_AUDIT_ANNOTATIONS) {
    const printed = auditAnnotations.map(({ key, valueExpression }) => ({
      Key: key,
      ValueExpression: valueExpression,
    }));
    const detail = `must not have more than ${MAX_AUDIT_ANNOTATIONS} auditAnnotations`;
    errors.push(invalid('spec.auditAnnotations', printed, detail));
  }
  const isRepeated = repeatedAt(auditAnnotations.map(({ key = '' }) => key));
  auditAnnotations.forEach((annotation, i) => {
    const path = `spec.auditAnnotations[${i}]`;
    append(errors, validateAuditAnnotation(name, annotation, check, path));
    const { key = '' } = annotation;
    if (isRepeated(i)) {
      errors.push(duplicate(`${path}.key`, key));
    }
  });
  return errors;
}

function validateValidation(validation: Validation, check: ExpressionCheck, path: string): FieldError[] {
  const { expression = '', message = '', messageExpression = '', reason } = validation;
  const errors =
    expression.trim() === ''
      ? [required(`${path}.expression`, 'expression is not specified')]
      : check.compile(expression, 'condition', `${path}.expression`);
  const empty = 'must be non-empty if specified';
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(invalid(`${path}.messageExpression`, messageExpression, empty));
  } else if (messageExpression !== '') {
    append(errors, check.compile(messageExpression, 'message', `${path}.messageExpression`));
  }
  if (message !== '' && message.trim() === '') errors.push(invalid(`${path}.message`, message, empty));
  else if (/[\n\r]/.test(message.trim())) {
    errors.push(invalid(`${path}.message`, message, 'must not contain line breaks'));
  }
  return [...errors, ...oneOf(`${path}.reason`, reason, REASONS)];
}

function validateAuditAnnotation(
  name: string | undefined,
  { key = '', valueExpression = '' }: AuditAnnotation,
  check: ExpressionCheck,
  path: string,
): FieldError[] {
  const errors =
    name === undefined || name === ''
      ? [invalid(`${path}.key`, key, 'requires metadata.name be non-empty')]
      : invalidAll(`${path}.key`, `${name}/${key}`, qualifiedName(`${name}/${key}`));
  const trimmed = valueExpression.trim();
  const at = `${path}.valueExpression`;
  if (trimmed === '') return [...errors, required(at, 'valueExpression is not specified')];
  if (Buffer.byteLength(trimmed) > MAX_VALUE_EXPRESSION_BYTES) {
    return [...errors, required(at, `must not exceed ${MAX_VALUE_EXPRESSION_BYTES} bytes in length`)];
  }
  return [...errors, ...check.compile(trimmed, 'annotation', at, valueExpression)];
}

/** Checks a mutating policy; `old` is the stored spec of an update. */
export function validateMutatingPolicy(
  spec: MutatingAdmissionPolicySpec,
  old: MutatingAdmissionPolicySpec | undefined,
): FieldError[] {
  const context = contextOf(spec, old);
  const check = createExpressionCheck(context, 'patches', 'variables');
  const { mutations = [], reinvocationPolicy = '' } = spec;
  const errors = [
    ...validateFailurePolicy(spec.failurePolicy, 'spec.failurePolicy'),
    ...validateParamKind(spec.paramKind, 'spec.paramKind'),
    ...validateMatchConstraints(spec.matchConstraints, 'spec.matchConstraints'),
    ...validateMutableOperations(spec.matchConstraints, 'spec.matchConstraints'),
    ...validateConditions(spec, old, context),
    ...validateVariables(spec, check),
  ];
  if (mutations.length === 0) errors.push(required('spec.mutations', 'mutations must contain at least one item'));
  append(
    errors,
    mutations.flatMap((mutation, i) => validateMutation(mutation, check, `spec.mutations[${i}]`)),
  );
  if (reinvocationPolicy === '') errors.push(required('spec.reinvocationPolicy'));
  else append(errors, oneOf('spec.reinvocationPolicy', reinvocationPolicy, REINVOCATION_POLICIES));
  return errors;
}

function validateMutation(mutation: Mutation, check: ExpressionCheck, path: string): FieldError[] {
  const { patchType = '', jsonPatch, applyConfiguration } = mutation;
  const expressions = { jsonPatch, applyConfiguration };
  const judge = (wanted: keyof typeof expressions, other: keyof typeof expressions): FieldError[] => {
    const errors: FieldError[] = [];
    const found = expressions[wanted];
    if (found === undefined) {
      errors.push(required(`${path}.${wanted}`, `must be specified when patchType is ${patchType}`));
    } else {
      const at = `${path}.${wanted}.expression`;
      const trimmed = (found.expression ?? '').trim();
      append(errors, trimmed === '' ? [required(at)] : check.compile(trimmed, wanted, at));
    }
    if (expressions[other] !== undefined) {
      const detail = `must not be specified when patchType is ${patchType}`;
      errors.push(invalid(`${path}.${other}`, `{${other}}`, detail));
    }
    return errors;
  };
  switch (patchType) {
    case '':
      return [required(`${path}.patchType`)];
    case 'JSONPatch':
      return judge('jsonPatch', 'applyConfiguration');
    case 'ApplyConfiguration':
      return judge('applyConfiguration', 'jsonPatch');
    default:
      return [notSupported(`${path}.patchType`, patchType, ['ApplyConfiguration', 'JSONPatch'])];
  }
}

/** The kind of a policy's parameters. */
export const paramKindColumn: Column<{ apiVersion: string; kind: string; metadata: object; spec?: PolicySpec }> =
  column('ParamKind', 'ParamKind specifies the kind of resources used to parameterize this policy', ({ spec }) => {
    const param = spec?.paramKind;
    return param === undefined ? '<unset>' : `${param.apiVersion ?? ''}/${param.kind ?? ''}`;
  });

/** The source of a binding's parameters. */
export function formatParamRef(ref: ParamRef | undefined): string {
  const { name = '', namespace = '', selector } = ref ?? {};
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`;
  return selector === undefined ? '<unset>' : formatLabelSelector(selector);
}

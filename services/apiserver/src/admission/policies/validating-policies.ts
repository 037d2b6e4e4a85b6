import { append, type Turn } from '@gantry/base';
import { AdmissionExpressions, type Compiled } from '@gantry/custom-resources';
import {
  type AuditAnnotation,
  StatusError,
  type StatusReason,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  type Validation,
} from '@gantry/objects';
import {
  type Bindings,
  BOOL,
  type CelValue,
  MAX_MESSAGE_BYTES,
  NULL,
  RUNTIME_COST_BUDGET,
  STRING,
  valueOfJson,
} from '@gantry/cel';
import type { Access, AdmissionCheck, AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';
import { expressionValues } from '../check/expression-values.ts';
import { evaluationError, matchConditions, OUT_OF_BUDGET } from '../check/match-conditions.ts';
import { refuse } from '../check/refuse.ts';
import { boundPolicies, type BoundPolicy } from './bound-policies.ts';
import { type CompiledVariable, compileVariables, PolicyEvaluation } from './policy-variables.ts';

interface CompiledValidation {
  readonly validation: Validation;
  readonly condition: Compiled;
  readonly message: Compiled | undefined;
}

/** The compiled expressions of a validating policy. */
interface CompiledPolicy {
  readonly variables: readonly CompiledVariable[];
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly { readonly annotation: AuditAnnotation; readonly value: Compiled }[];
}

const compiled = new WeakMap<object, CompiledPolicy>();

/** Compiles a policy, once per stored revision. */
function compilePolicy(policy: ValidatingAdmissionPolicy): CompiledPolicy {
  const known = compiled.get(policy);
  if (known !== undefined) return known;
  const { variables = [], validations = [], auditAnnotations = [], paramKind } = policy.spec ?? {};
  const scope = { params: paramKind !== undefined, authorizer: true, patches: false };
  const expressions = new AdmissionExpressions(scope, variables.length > 0);
  const made: CompiledPolicy = {
    variables: compileVariables(variables, expressions),
    validations: validations.map((validation) => ({
      validation,
      condition: expressions.compile(validation.expression, [BOOL]),
      message:
        (validation.messageExpression ?? '').trim() === ''
          ? undefined
          : expressions.compile(validation.messageExpression ?? '', [STRING], { ...scope, authorizer: false }),
    })),
    annotations: auditAnnotations.map((annotation) => ({
      annotation,
      value: expressions.compile(annotation.valueExpression, [STRING, NULL]),
    })),
  };
  compiled.set(policy, made);
  return made;
}

const GROUP = { group: 'admissionregistration.k8s.io', version: 'v1' };
const RESOURCES = {
  policies: { ...GROUP, resource: 'validatingadmissionpolicies' },
  bindings: { ...GROUP, resource: 'validatingadmissionpolicybindings' },
};
const CODES: Readonly<Record<string, number>> = { Forbidden: 403, RequestEntityTooLarge: 413, Unauthorized: 401 };

/** Why a request violates a policy. */
interface Decision {
  readonly message: string;
  readonly reason: string;
  /** The index of the violated validation; absent when the policy as a whole failed. */
  readonly expressionIndex?: number;
}

/** A violation with its policy and binding. The binding is undefined when the policy itself is invalid. */
interface Denial extends Decision {
  readonly policy: string;
  readonly binding: string | undefined;
}

/** The check of ValidatingAdmissionPolicies. Each binding of a policy defines its scope and the actions after a violation. */
export function validatingPolicies(access: Access): AdmissionCheck {
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: async (request, reader) => {
      const denials: Denial[] = [];
      for (const bound of await boundPolicies<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding>(
        RESOURCES,
        request,
        reader,
      )) {
        append(denials, await judge(bound, request, reader, access));
      }
      const [first] = denials;
      if (first !== undefined) throw denied(request, first);
    },
  };
}

async function judge(
  { policy, binding, as, params }: BoundPolicy<ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding>,
  request: AdmissionRequest,
  reader: AdmissionReader,
  access: Access,
): Promise<readonly Denial[]> {
  const names = { policy: policy.metadata.name ?? '', binding: binding.metadata.name ?? '' };
  if ('error' in params) {
    const message = `failed to configure binding: ${params.error}`;
    return policy.spec?.failurePolicy === 'Ignore' ? [] : [{ ...names, message, reason: '' }];
  }
  const values = await expressionValues(request, as, reader, access);
  const denials: Denial[] = [];
  for (const param of params) {
    const seen = { ...values, params: param === null ? null : valueOfJson(param) };
    const { decisions, annotations, annotationErrors } = await request.compute((turn) => evaluate(turn, policy, seen));
    for (const [key, value] of annotations) request.annotate(`${names.policy}/${key}`, value);
    if (binding.spec.validationActions.includes('Audit') && decisions.length > 0) {
      request.annotate(FAILURE_ANNOTATION, failuresOf(decisions, names, binding));
    }
    for (const decision of decisions) append(denials, act(decision, binding, names, request));
    for (const message of annotationErrors) denials.push({ ...names, message, reason: '' });
  }
  return denials;
}

/** The actions of a binding after a violation: a denial, a warning, or an audit annotation. */
function act(
  decision: Decision,
  { spec }: ValidatingAdmissionPolicyBinding,
  names: { readonly policy: string; readonly binding: string },
  request: AdmissionRequest,
): readonly Denial[] {
  if (spec.validationActions.includes('Warn')) {
    const { policy, binding } = names;
    request.warn(
      `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${decision.message}`,
    );
  }
  return spec.validationActions.includes('Deny') ? [{ ...decision, ...names }] : [];
}

/** Kubernetes' audit annotation for violations with the action Audit. */
const FAILURE_ANNOTATION = 'validation.policy.admission.k8s.io/validation_failure';

function failuresOf(
  decisions: readonly Decision[],
  names: { readonly policy: string; readonly binding: string },
  { spec }: ValidatingAdmissionPolicyBinding,
): string {
  const failures = decisions.map(({ message, expressionIndex }) => ({
    message,
    ...names,
    expressionIndex,
    validationActions: spec.validationActions,
  }));
  return JSON.stringify(failures);
}

/** A computation in steps whose result is a T. */
type Pieces<T> = Generator<undefined, T, undefined>;

/** The result of a policy: its violations, its audit annotations, and the annotations that failed. */
interface Verdict {
  readonly decisions: readonly Decision[];
  readonly annotations: ReadonlyMap<string, string>;
  readonly annotationErrors: readonly string[];
}

function* evaluate(turn: Turn, policy: ValidatingAdmissionPolicy, known: Bindings): Pieces<Verdict> {
  const { matchConditions: conditions = [], failurePolicy } = policy.spec ?? {};
  const failed = (message: string): Decision[] => (failurePolicy === 'Ignore' ? [] : [{ message, reason: '' }]);
  const only = (decisions: readonly Decision[]): Verdict => ({
    decisions,
    annotations: new Map(),
    annotationErrors: [],
  });
  const matched = yield* matchConditions(conditions, known, failurePolicy)(turn);
  if ('error' in matched) return only(failed(matched.error));
  if (!matched.matches) return only([]);
  const { variables, validations, annotations } = compilePolicy(policy);
  const evaluation = new PolicyEvaluation(variables, known, RUNTIME_COST_BUDGET);
  const broken: CompiledValidation[] = [];
  const decisions = new Map<CompiledValidation, Decision>();
  for (const one of validations) {
    const outcome = yield* resultOf(turn, evaluation, one.condition, one.validation.expression);
    if (outcome === undefined) return only(failed(OUT_OF_BUDGET));
    if ('error' in outcome) for (const decision of failed(outcome.error)) decisions.set(one, decision);
    else if (outcome.value !== true) broken.push(one);
  }
  for (const one of broken) {
    const message = yield* messageOf(turn, one, evaluation);
    if (message !== undefined) decisions.set(one, { message, reason: one.validation.reason ?? 'Invalid' });
    else for (const decision of failed(`failed messageExpression: ${OUT_OF_BUDGET}`)) decisions.set(one, decision);
  }
  const noted = new PolicyEvaluation(variables, known, RUNTIME_COST_BUDGET);
  const annotationErrors: string[] = [];
  const made = new Map<string, string>();
  for (const { annotation, value } of annotations) {
    const outcome = yield* resultOf(turn, noted, value, annotation.valueExpression);
    if (outcome === undefined) return only(failed(OUT_OF_BUDGET));
    if (!('error' in outcome)) {
      if (typeof outcome.value === 'string') made.set(annotation.key, outcome.value);
    } else if (failurePolicy !== 'Ignore') annotationErrors.push(outcome.error);
  }
  const found = validations.flatMap((one, expressionIndex) => {
    const decision = decisions.get(one);
    return decision === undefined ? [] : [{ ...decision, expressionIndex }];
  });
  return { decisions: found, annotations: made, annotationErrors };
}

/** The result of an expression or its error. Undefined when the cost budget is used up. */
function* resultOf(
  turn: Turn,
  evaluation: PolicyEvaluation,
  compiled: Compiled,
  expression: string,
): Pieces<{ readonly value: CelValue } | { readonly error: string } | undefined> {
  if (!compiled.ok) return { error: `compilation error: ${compiled.detail}` };
  const result = yield* evaluation.evaluate(compiled.program)(turn);
  if (result === undefined) return undefined;
  return result.ok ? { value: result.value } : { error: evaluationError(expression, result.error) };
}

/** The message of a violation: the result of messageExpression, else the field `message`, else the expression. */
function* messageOf(
  turn: Turn,
  { validation, message }: CompiledValidation,
  evaluation: PolicyEvaluation,
): Pieces<string | undefined> {
  if (message?.ok === true) {
    const made = yield* evaluation.evaluate(message.program)(turn);
    if (made === undefined) return undefined;
    const text = made.ok && typeof made.value === 'string' ? made.value.trim() : '';
    if (text !== '' && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES && !text.includes('\n')) return text;
  }
  const written = (validation.message ?? '').trim();
  return written === '' ? `failed expression: ${validation.expression.trim()}` : written;
}

function denied(request: AdmissionRequest, { policy, binding, message, reason }: Denial): StatusError {
  const where = binding === undefined ? '' : ` with binding '${binding}'`;
  const why = `ValidatingAdmissionPolicy '${policy}'${where} denied request: ${message}`;
  const plain = refuse(request, why);
  const told = reason === '' ? 'Invalid' : reason;
  return new StatusError(told as StatusReason, plain.message, {
    code: CODES[told] ?? 422,
    details: { ...plain.details, causes: [{ message: why }] },
  });
}

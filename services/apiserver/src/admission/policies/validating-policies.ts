import {
  type KubeObject,
  StatusError,
  type StatusReason,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
} from '@gantry/api';
import { type Bindings, MAX_MESSAGE_BYTES, PER_CALL_LIMIT, RUNTIME_COST_BUDGET, valueOfJson } from '@gantry/cel';
import type { Authorizer } from '../../driver.ts';
import type { AdmissionCheck, AdmissionReader, AdmissionRequest } from '../admission-check.ts';
import { expressionValues } from '../expression-values.ts';
import { evaluationError, matchConditions } from '../match-conditions.ts';
import { isExempt } from '../request-matching.ts';
import { refuse } from '../refuse.ts';
import { type CompiledValidation, compilePolicy, withVariables } from './compiled-policy.ts';
import { collectParams } from './params.ts';
import { bindingMatches, policyMatches } from './policy-matching.ts';

const GROUP = { group: 'admissionregistration.k8s.io', version: 'v1' };
const POLICIES = { ...GROUP, resource: 'validatingadmissionpolicies' };
const BINDINGS = { ...GROUP, resource: 'validatingadmissionpolicybindings' };
const CODES: Readonly<Record<string, number>> = { Forbidden: 403, RequestEntityTooLarge: 413, Unauthorized: 401 };
const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

/** Why a request does not please a policy. */
interface Decision {
  readonly message: string;
  readonly reason: string;
}

/** A policy, one of its bindings (none where the policy itself is at fault), and what they say. */
interface Denial extends Decision {
  readonly policy: string;
  readonly binding: string | undefined;
}

/** Policies that are expressions: each binding of a policy says where it holds and what follows when it is broken. */
export function validatingPolicies(authorizer: Authorizer): AdmissionCheck {
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: async (request, reader) => {
      if (isExempt(request)) return;
      const policies = byName(await reader.list<ValidatingAdmissionPolicy>(POLICIES, ''));
      if (policies.length === 0) return;
      const bindings = byName(await reader.list<ValidatingAdmissionPolicyBinding>(BINDINGS, ''));
      const denials: Denial[] = [];
      for (const policy of policies) {
        const own = bindings.filter(({ spec }) => spec.policyName === policy.metadata.name);
        if (own.length > 0) denials.push(...(await judge(policy, own, request, reader, authorizer)));
      }
      const [first] = denials;
      if (first !== undefined) throw denied(request, first);
    },
  };
}

function byName<T extends KubeObject>(objects: readonly T[]): readonly T[] {
  return [...objects].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
}

async function judge(
  policy: ValidatingAdmissionPolicy,
  bindings: readonly ValidatingAdmissionPolicyBinding[],
  request: AdmissionRequest,
  reader: AdmissionReader,
  authorizer: Authorizer,
): Promise<readonly Denial[]> {
  const { spec = {}, metadata } = policy;
  const as = await policyMatches(spec.matchConstraints, request, reader);
  if (as === undefined) return [];
  const denials: Denial[] = [];
  let values: Bindings | undefined;
  for (const binding of bindings) {
    if (!(await bindingMatches(binding.spec.matchResources, request, reader))) continue;
    const names = { policy: metadata.name ?? '', binding: binding.metadata.name ?? '' };
    const found = await collectParams(spec.paramKind, binding.spec.paramRef, request.namespace, reader);
    if ('error' in found) {
      const message = `failed to configure binding: ${found.error}`;
      if (spec.failurePolicy !== 'Ignore') denials.push({ ...names, message, reason: '' });
      continue;
    }
    values ??= await expressionValues(request, as, reader, authorizer);
    for (const param of found.params) {
      for (const decision of evaluate(policy, { ...values, params: param === null ? null : valueOfJson(param) })) {
        denials.push(...act(decision, binding, names, request));
      }
    }
  }
  return denials;
}

/** What a binding makes of a broken policy: a denial, a warning, or a note for the audit, which nobody keeps yet. */
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

/** Everything that a policy has to say against a request. */
function evaluate(policy: ValidatingAdmissionPolicy, known: Bindings): readonly Decision[] {
  const { matchConditions: conditions = [], failurePolicy } = policy.spec ?? {};
  const failed = (message: string): Decision[] => (failurePolicy === 'Ignore' ? [] : [{ message, reason: '' }]);
  const matched = matchConditions(conditions, known, failurePolicy);
  if ('error' in matched) return failed(matched.error);
  if (!matched.matches) return [];
  const compiled = compilePolicy(policy);
  const values = withVariables(compiled, known);
  const decisions: Decision[] = [];
  let budget = RUNTIME_COST_BUDGET;
  for (const one of compiled.validations) {
    const { validation, condition } = one;
    if (!condition.ok) {
      decisions.push(...failed(condition.detail));
      continue;
    }
    const result = condition.program.evaluate(values, Math.min(PER_CALL_LIMIT, budget));
    budget -= result.cost;
    if (budget <= 0) return [...decisions, ...failed(OUT_OF_BUDGET)];
    if (!result.ok) decisions.push(...failed(evaluationError(validation.expression, result.error)));
    else if (result.value !== true) {
      decisions.push({ message: messageOf(one, values, budget), reason: validation.reason ?? 'Invalid' });
    }
  }
  return decisions;
}

/** The message that an expression makes, else the one that is written down, else the expression itself. */
function messageOf({ validation, message }: CompiledValidation, values: Bindings, budget: number): string {
  if (message?.ok === true) {
    const made = message.program.evaluate(values, Math.min(PER_CALL_LIMIT, budget));
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

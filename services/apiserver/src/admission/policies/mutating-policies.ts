import { type SchemaRef, schemaOfKind, normaliseShape } from '@gantry/apimachinery';
import { MutationRefused } from '@gantry/custom-resources';
import {
  type KubeObject,
  type MutatingAdmissionPolicy,
  type MutatingAdmissionPolicyBinding,
  StatusError,
  apiVersionOf,
  equalJson,
} from '@gantry/objects';
import { RUNTIME_COST_BUDGET, valueOfJson } from '@gantry/cel';
import {
  type Access,
  type AdmissionCheck,
  type AdmissionReader,
  type AdmissionRequest,
  replaceContent,
} from '../check/admission-check.ts';
import { convertObject } from '../check/request-matching.ts';
import { expressionValues } from '../check/expression-values.ts';
import { evaluationError, matchConditions, OUT_OF_BUDGET } from '../check/match-conditions.ts';
import { refuse } from '../check/refuse.ts';
import { ReinvocationNotes } from '../check/reinvocation-notes.ts';
import { type BoundPolicy, boundPolicies } from './bound-policies.ts';
import { type CompiledMutation, compileMutations } from './compiled-mutations.ts';
import { PolicyEvaluation } from './policy-variables.ts';

const NAME = 'MutatingAdmissionPolicy';
const GROUP = { group: 'admissionregistration.k8s.io', version: 'v1' };
const RESOURCES = {
  policies: { ...GROUP, resource: 'mutatingadmissionpolicies' },
  bindings: { ...GROUP, resource: 'mutatingadmissionpolicybindings' },
};

type Bound = BoundPolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding>;

/** The failure of a policy. `reason` is empty if the policy could not be evaluated at all. */
interface Failure {
  readonly bound: Bound;
  readonly message: string;
  readonly reason: '' | 'Invalid';
}

/** The check of MutatingAdmissionPolicies. They run one after the other, before webhooks. */
export function mutatingPolicies(access: Access): AdmissionCheck {
  return {
    name: NAME,
    mutate: async (request, reader) => {
      const bound = await boundPolicies<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding>(
        RESOURCES,
        request,
        reader,
      );
      if (bound.length === 0) return;
      const turn = new Turn(request, reader, access);
      for (const one of bound) await turn.invoke(one);
      turn.end();
    },
  };
}

/** One invocation of all policies on a request. */
class Turn {
  readonly #request: AdmissionRequest;
  readonly #reader: AdmissionReader;
  readonly #access: Access;
  readonly #notes: ReinvocationNotes;
  /** Failures of policies that could not be evaluated. They are reported first. */
  readonly #unasked: Failure[] = [];
  readonly #failures: Failure[] = [];
  #applied = false;

  constructor(request: AdmissionRequest, reader: AdmissionReader, access: Access) {
    this.#request = request;
    this.#reader = reader;
    this.#access = access;
    this.#notes = ReinvocationNotes.of(request, NAME);
  }

  /** Applies a policy to the object, once for each of its parameters. */
  async invoke(bound: Bound): Promise<void> {
    const { policy, binding, params } = bound;
    if ('error' in params) {
      this.#unasked.push({ bound, message: `failed to configure binding: ${params.error}`, reason: '' });
      return;
    }
    for (const param of params) {
      const { name = '', namespace = '' } = param?.metadata ?? {};
      const id = [policy.metadata.name, binding.metadata.name, namespace, name].join('/');
      await this.#invokeWith(bound, param, id);
    }
  }

  async #invokeWith(bound: Bound, param: KubeObject | null, id: string): Promise<void> {
    const { policy, as } = bound;
    const { matchConditions: conditions = [], failurePolicy, reinvocationPolicy } = policy.spec ?? {};
    const values = await this.#values(bound, param);
    const matched = await this.#request.compute(matchConditions(conditions, values, failurePolicy));
    if ('error' in matched) this.#fail(bound, matched.error);
    if ('error' in matched || !matched.matches || this.#notes.passes(this.#request, id)) return;
    const before = structuredClone(this.#request.object);
    const { variables, mutations } = compileMutations(policy);
    for (const mutation of mutations) {
      const evaluation = new PolicyEvaluation(variables, await this.#values(bound, param), RUNTIME_COST_BUDGET);
      try {
        await mutate(this.#request, as, mutation, evaluation);
        this.#applied = true;
      } catch (error) {
        if (!(error instanceof MutationRefused)) throw error;
        this.#fail(bound, error.message);
      }
    }
    if (!equalJson(before, this.#request.object)) this.#notes.changed(this.#request);
    this.#notes.asked(id, reinvocationPolicy);
  }

  async #values({ as }: Bound, param: KubeObject | null) {
    const known = await expressionValues(this.#request, as, this.#reader, this.#access);
    return { ...known, params: param === null ? null : valueOfJson(param) };
  }

  #fail(bound: Bound, message: string): void {
    this.#failures.push({ bound, message, reason: 'Invalid' });
  }

  /** Rejects the request if a policy without failurePolicy Ignore has failed. */
  end(): void {
    if (this.#applied) this.#notes.changed(this.#request);
    this.#notes.done(this.#request.object);
    const failures = [...this.#unasked, ...this.#failures].filter(
      ({ bound }) => bound.policy.spec?.failurePolicy !== 'Ignore',
    );
    if (failures.length > 0) throw denied(this.#request, failures);
  }
}

/** Applies one mutation. Throws MutationRefused if that fails. */
async function mutate(
  request: AdmissionRequest,
  as: Bound['as'],
  { program, expression, apply }: CompiledMutation,
  evaluation: PolicyEvaluation,
): Promise<void> {
  if (!program.ok) throw new MutationRefused(program.detail);
  const result = await request.compute(evaluation.evaluate(program.program));
  if (result === undefined) throw new MutationRefused(OUT_OF_BUDGET);
  if (!result.ok) throw new MutationRefused(evaluationError(expression, result.error));
  const { definition, object, kind } = request;
  if (kind.kind !== definition.kind || kind.group !== definition.group) {
    replaceContent(object, apply(result.value, object, schemaOfPart(kind)));
    return;
  }
  const shown = await convertObject(object, definition, as);
  const changed = apply(result.value, shown, as.schema);
  as.strategy.applyDefaults?.(changed);
  replaceContent(object, await convertObject(normaliseShape(changed, as.schema), as, definition));
}

/** The schema of the body of a subresource. */
function schemaOfPart(kind: AdmissionRequest['kind']): SchemaRef {
  const apiVersion = apiVersionOf(kind);
  const schema = schemaOfKind({ apiVersion, kind: kind.kind });
  if (schema !== undefined) return schema;
  const text = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
  throw new StatusError(
    'ServiceUnavailable',
    `Resource kind ${text} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.`,
  );
}

/** The error of a request. The first failure is its message; all failures are its causes. */
function denied(request: AdmissionRequest, failures: readonly Failure[]): StatusError {
  const messages = failures.map(({ bound: { policy, binding }, message }) => {
    const names = `policy '${policy.metadata.name ?? ''}' with binding '${binding.metadata.name ?? ''}'`;
    return `${names} denied request: ${message}`;
  });
  const plain = refuse(request, 'admission request denied by policy');
  return new StatusError(failures[0]?.reason || 'Forbidden', messages[0] ?? '', {
    code: 403,
    details: { ...plain.details, causes: messages.map((message) => ({ message })) },
  });
}

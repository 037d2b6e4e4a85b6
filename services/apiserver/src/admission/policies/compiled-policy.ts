import { AdmissionExpressions, type Compiled } from '@gantry/custom-resources';
import type { AuditAnnotation, ValidatingAdmissionPolicy, Validation } from '@gantry/objects';
import { BOOL, NULL, STRING } from '@gantry/cel';
import { type CompiledVariable, compileVariables } from './policy-variables.ts';

export interface CompiledValidation {
  readonly validation: Validation;
  readonly condition: Compiled;
  readonly message: Compiled | undefined;
}

/** The programs of a validating policy. */
export interface CompiledPolicy {
  readonly variables: readonly CompiledVariable[];
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly { readonly annotation: AuditAnnotation; readonly value: Compiled }[];
}

const compiled = new WeakMap<object, CompiledPolicy>();

/** Compiled once for each stored revision of the policy. */
export function compilePolicy(policy: ValidatingAdmissionPolicy): CompiledPolicy {
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

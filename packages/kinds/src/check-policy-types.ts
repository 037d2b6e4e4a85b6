import { type DeclaredType, DYN } from '@gantry/cel';
import { type JsonSchema, schemaOf } from '@gantry/apimachinery';
import { AdmissionExpressions, declaredKind, declaredTypeOf } from '@gantry/custom-resources';
import {
  type CustomResourceDefinition,
  type ExpressionWarning,
  type NamedRuleWithOperations,
  type ValidatingAdmissionPolicy,
  parseApiVersion,
} from '@gantry/objects';
import { findKind, resources } from './registry.ts';

/** The maximum number of kinds per rule that are checked. */
const MAX_KINDS = 10;
const COMPILATION = 'compilation failed: ';

/** A kind that a policy may match, with its declared type. */
interface CheckedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly type: DeclaredType;
}

/**
 * Type errors in a policy's expressions for the kinds that its rules name (built-in kinds and those of `crds`). They are warnings: the
 * policy is stored and used anyway. Rules with wildcards name no kinds.
 */
export function checkPolicyTypes(
  policy: ValidatingAdmissionPolicy,
  crds: readonly CustomResourceDefinition[],
): readonly ExpressionWarning[] {
  const { matchConstraints, validations = [] } = policy.spec ?? {};
  const kinds = namedKinds(matchConstraints?.resourceRules ?? [], crds).map((kind) => ({
    shown: `${kind.group}/${kind.version}, Kind=${kind.kind}`,
    expressions: expressionsOn(policy, kind, crds),
  }));
  const warn = (fieldRef: string, expression: string): readonly ExpressionWarning[] => {
    const issues = kinds.flatMap(({ shown, expressions }) => {
      const compiled = expressions.compile(expression, []);
      return compiled.ok ? [] : [`${shown}: ${compiled.detail.replace(COMPILATION, '')}\n`];
    });
    return issues.length === 0 ? [] : [{ fieldRef, warning: issues.join('\n') }];
  };
  return validations.flatMap(({ expression, messageExpression = '' }, i) => [
    ...warn(`spec.validations[${i}].expression`, expression),
    ...(messageExpression === '' ? [] : warn(`spec.validations[${i}].messageExpression`, messageExpression)),
  ]);
}

/** The environment of a policy's expressions for one kind, including its variables, which are compiled once for all expressions. */
function expressionsOn(
  { spec = {} }: ValidatingAdmissionPolicy,
  { type }: CheckedKind,
  crds: readonly CustomResourceDefinition[],
): AdmissionExpressions {
  const { paramKind, variables = [] } = spec;
  const { group, version } = parseApiVersion(paramKind?.apiVersion ?? '');
  const params = paramKind === undefined ? undefined : declaredAs(group, version, paramKind.kind ?? '', crds);
  const scope = { params: paramKind !== undefined, authorizer: true, patches: false };
  const expressions = new AdmissionExpressions(scope, true, { object: type, params });
  for (const variable of variables) {
    const compiled = expressions.compile(variable.expression, []);
    expressions.declare(variable.name, compiled.ok ? compiled.program.resultType : DYN);
  }
  return expressions;
}

/** Kinds by group, version and name. */
function namedKinds(
  rules: readonly NamedRuleWithOperations[],
  crds: readonly CustomResourceDefinition[],
): readonly CheckedKind[] {
  const found = new Map<string, CheckedKind>();
  for (const { apiGroups = [], apiVersions = [], resources: plurals = [] } of rules) {
    if ([...apiGroups, ...apiVersions].some((text) => text.includes('*'))) continue;
    const named = apiGroups.toSorted().flatMap((group) =>
      apiVersions.toSorted().flatMap((version) =>
        plurals
          .filter((plural) => !/[*/]/.test(plural))
          .toSorted()
          .flatMap((plural) => kindOf(group, version, plural, crds) ?? []),
      ),
    );
    for (const kind of named.slice(0, MAX_KINDS)) found.set(`${kind.group}/${kind.version}/${kind.kind}`, kind);
  }
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind);
}

function kindOf(
  group: string,
  version: string,
  plural: string,
  crds: readonly CustomResourceDefinition[],
): CheckedKind | undefined {
  const builtIn = resources.find(
    (one) => one.group === group && one.version === version && one.resource === plural,
  )?.kind;
  const kind =
    builtIn ?? crds.find(({ spec }) => spec.group === group && spec.names.plural === plural)?.spec.names.kind;
  const type = kind === undefined ? undefined : declaredAs(group, version, kind, crds);
  return kind === undefined || type === undefined ? undefined : { group, version, kind, type };
}

function declaredAs(
  group: string,
  version: string,
  kind: string,
  crds: readonly CustomResourceDefinition[],
): DeclaredType | undefined {
  const definition = findKind(group, version, kind);
  if (definition !== undefined) return declaredKind(schemaOf(definition.schema), kind);
  const crd = crds.find(({ spec }) => spec.group === group && spec.names.kind === kind);
  const schema = crd?.spec.versions.find(({ name, served }) => name === version && served)?.schema?.openAPIV3Schema;
  return schema === undefined ? undefined : declaredTypeOf(schema as JsonSchema, true, kind);
}

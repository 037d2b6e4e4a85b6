import type { JsonPatchOperation, SchemaRef } from '@gantry/apimachinery';
import {
  AdmissionExpressions,
  type Compiled,
  JSON_PATCH,
  MutationRefused,
  OBJECT,
  mergeMutation,
  patchMutation,
} from '@gantry/custom-resources';
import type { JsonObject, KubeObject, MutatingAdmissionPolicy } from '@gantry/objects';
import { CelList, CelMap, type CelValue, isError, jsonOfValue, listOf } from '@gantry/cel';
import { type CompiledVariable, compileVariables } from './policy-variables.ts';

/** One compiled mutation of a policy. */
export interface CompiledMutation {
  readonly expression: string;
  readonly program: Compiled;
  /** Applies the result of the expression to an object. Throws MutationRefused or StatusError. */
  readonly apply: (value: CelValue, object: KubeObject, schema: SchemaRef) => KubeObject;
}

/** The compiled expressions of a mutating policy. */
export interface CompiledMutations {
  readonly variables: readonly CompiledVariable[];
  readonly mutations: readonly CompiledMutation[];
}

const compiled = new WeakMap<object, CompiledMutations>();

/** Compiles a policy, once per stored revision. */
export function compileMutations(policy: MutatingAdmissionPolicy): CompiledMutations {
  const known = compiled.get(policy);
  if (known !== undefined) return known;
  const { variables = [], mutations = [], paramKind } = policy.spec ?? {};
  const scope = { params: paramKind !== undefined, authorizer: true, patches: true };
  const expressions = new AdmissionExpressions(scope, true);
  const made: CompiledMutations = {
    variables: compileVariables(variables, expressions),
    mutations: mutations.map(({ patchType, jsonPatch, applyConfiguration }) => {
      const isPatch = patchType === 'JSONPatch';
      const expression = (isPatch ? jsonPatch?.expression : applyConfiguration?.expression) ?? '';
      const program = expressions.compile(expression, [isPatch ? listOf(JSON_PATCH) : OBJECT]);
      return { expression, program, apply: isPatch ? applyOperations : applyConfigurationOf };
    }),
  };
  compiled.set(policy, made);
  return made;
}

function applyConfigurationOf(value: CelValue, object: KubeObject, schema: SchemaRef): KubeObject {
  requireMatchingNames(value);
  return mergeMutation(schema, object, jsonOf(value) as JsonObject);
}

function applyOperations(value: CelValue, object: KubeObject, schema: SchemaRef): KubeObject {
  const operations = value instanceof CelList ? [...value].map(operationOf) : [];
  return patchMutation(schema, object, operations);
}

function operationOf(operation: CelValue): JsonPatchOperation {
  if (!(operation instanceof CelMap)) {
    throw new MutationRefused('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  }
  const text = (field: string): string => {
    const found = operation.get(field);
    return typeof found === 'string' ? found : '';
  };
  const value = operation.get('value');
  const from = text('from');
  if (value !== undefined && !isError(value) && value instanceof CelMap && isObject(value)) requireMatchingNames(value);
  return {
    op: text('op'),
    path: text('path'),
    from: from || undefined,
    ...(value === undefined || isError(value) ? {} : { value: jsonOf(value) }),
  };
}

function jsonOf(value: CelValue): unknown {
  const json = jsonOfValue(value);
  if (isError(json)) throw new MutationRefused(json.message);
  return json;
}

function isObject({ typeName }: CelMap): boolean {
  return typeName === 'Object' || typeName.startsWith('Object.');
}

/** Rejects objects whose type name does not match the field in which they are. The names are the only type information. */
function requireMatchingNames(value: CelValue): void {
  const mismatches = value instanceof CelMap ? nameMismatches(value, value.typeName) : [];
  if (mismatches.length > 0) throw new MutationRefused(`type mismatch: ${mismatches.join('\n')}`);
}

function nameMismatches(value: CelValue, path: string): readonly string[] {
  if (value instanceof CelList) return [...value].flatMap((item) => nameMismatches(item, path));
  if (!(value instanceof CelMap)) return [];
  const typed = isObject(value);
  const own =
    typed && value.typeName !== path
      ? [
          `unexpected type name ${JSON.stringify(value.typeName)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`,
        ]
      : [];
  const inner = [...value.keys()].flatMap((key) => {
    const item = value.get(key);
    if (item === undefined || isError(item)) return [];
    return nameMismatches(item, typed ? `${path}.${String(key)}` : path);
  });
  return [...own, ...inner];
}

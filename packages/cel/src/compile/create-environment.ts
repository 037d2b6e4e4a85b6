import { must, type Turn } from '@gantry/base';
import { check } from '../check/checker.ts';
import type { CheckedExpr } from '../check/checked.ts';
import type { FunctionDeclaration } from '../environment/function-declaration.ts';
import { validateLiterals } from './literal-checks.ts';
import type { Declarations } from '../check/scope.ts';
import { estimateCost } from '../cost/estimate.ts';
import type { DeclaredType } from '../declared-type.ts';
import { ConstantFailure, Planner, type Step } from '../evaluate/planner.ts';
import { CostExceeded, Frame, Suspended } from '../evaluate/frame.ts';
import { KUBERNETES } from '../library/kubernetes.ts';
import { PER_CALL_LIMIT } from '../limits.ts';
import { Source } from '../source.ts';
import { parse } from '../syntax/parser.ts';
import { type CelType, INT, mapOf, STRING } from '../types.ts';
import { CelError, type CelResult, isError } from '../values/value.ts';
import type {
  Bindings,
  Compilation,
  Environment,
  EnvironmentOptions,
  Evaluation,
  Program,
  Run,
  StructTypes,
} from '../environment/environment.ts';

/** Creates an environment with Kubernetes' functions. */
export function createEnvironment(options: EnvironmentOptions): Environment {
  const declared = new Map<string, DeclaredType>();
  const variables = new Map<string, CelType>();
  for (const [name, type] of Object.entries(options.variables)) {
    if ('kind' in type) variables.set(name, type);
    else {
      variables.set(name, type.type);
      declared.set(name, type);
    }
  }
  const structs = structsOf(declared.values(), options.structs);
  const declarations: Declarations = { variables, functions: merged(options.functions ?? []), structs };
  return {
    compile(expression): Compilation {
      const source = new Source(expression);
      const { allowance } = options;
      const failed = (issues: Parameters<Source['format']>[0]): Compilation => ({
        ok: false,
        stage: 'compilation',
        issues: source.format(issues),
      });
      const usedUp = allowance?.refusal;
      if (usedUp !== undefined) return failed([{ offset: -1, message: usedUp }]);
      const parsed = parse(expression);
      const refused = allowance?.takeExpression(parsed.tokens, parsed.parts);
      if (refused !== undefined) return failed([{ offset: -1, message: refused }]);
      if (!parsed.ok) return failed(parsed.issues);
      const { checked, issues } = check(parsed.expr, declarations);
      if (issues.length > 0) return failed(issues);
      const invalid = validateLiterals(checked, allowance);
      if (invalid.length > 0) return failed(invalid);
      try {
        const step = new Planner(checked, structs).plan(checked.expr);
        return { ok: true, program: programOf(expression, checked, step, declared) };
      } catch (error) {
        if (!(error instanceof ConstantFailure)) throw error;
        return { ok: false, stage: 'program instantiation', issues: error.error.message };
      }
    },
  };
}

function merged(more: readonly FunctionDeclaration[]): ReadonlyMap<string, FunctionDeclaration> {
  if (more.length === 0) return KUBERNETES;
  const functions = new Map(KUBERNETES);
  for (const { name, overloads } of more) {
    functions.set(name, { name, overloads: [...(functions.get(name)?.overloads ?? []), ...overloads] });
  }
  return functions;
}

/** Fields of the objects in the declared types, then of the environment's own messages. */
function structsOf(declared: Iterable<DeclaredType>, others: StructTypes | undefined): StructTypes {
  const structs = new DeclaredStructs(declared);
  return {
    fieldType(struct, field) {
      const fields = structs.fieldsOf(struct);
      if (fields !== undefined) return fields.get(field)?.type;
      return others === undefined ? wellKnownField(struct, field) : others.fieldType(struct, field);
    },
    ...(others?.create === undefined ? {} : { create: others.create.bind(others) }),
  };
}

function wellKnownField(struct: string, _field: string): CelType | null {
  return struct === 'google.protobuf.Struct' ? mapOf(STRING, INT) : null;
}

function programOf(
  expression: string,
  checked: CheckedExpr,
  step: Step,
  declared: ReadonlyMap<string, DeclaredType>,
): Program {
  const references = new Set<string>();
  for (const reference of checked.references.values()) if (reference.kind === 'ident') references.add(reference.name);
  return {
    expression,
    resultType: checked.typeOf(checked.expr),
    estimatedCost: estimateCost(checked, declared),
    references,
    evaluate: (bindings, costLimit = PER_CALL_LIMIT) =>
      must(new Evaluating(step, bindings, costLimit).advance(undefined), 'without a turn nothing is suspended'),
    begin: (bindings, costLimit = PER_CALL_LIMIT) => new Evaluating(step, bindings, costLimit),
  };
}

/** An evaluation, which may be suspended and continued. */
class Evaluating implements Run {
  readonly #step: Step;
  readonly #frame: Frame;

  constructor(step: Step, bindings: Bindings, costLimit: number) {
    this.#step = step;
    this.#frame = new Frame(resolver(bindings), costLimit);
  }

  advance(turn: Turn | undefined): Evaluation | undefined {
    const frame = this.#frame;
    frame.begin(turn);
    try {
      const value = this.#step(frame);
      if (isError(value)) return { ok: false, error: value.message, cost: frame.cost };
      return { ok: true, value, cost: frame.cost };
    } catch (error) {
      if (error instanceof Suspended) return undefined;
      if (!(error instanceof CostExceeded)) throw error;
      return { ok: false, error: 'operation cancelled: actual cost limit exceeded', cost: frame.cost };
    }
  }
}

/** Resolves names to values, each once. */
function resolver(bindings: Bindings): (name: string) => CelResult {
  const resolved = new Map<string, CelResult>();
  return (name) => {
    const known = resolved.get(name);
    if (known !== undefined) return known;
    const bound = Object.hasOwn(bindings, name) ? bindings[name] : undefined;
    const value = typeof bound === 'function' ? bound() : bound;
    const result = value ?? (value === null ? null : new CelError(`no such attribute(s): ${name}`));
    resolved.set(name, result);
    return result;
  };
}

type Fields = ReadonlyMap<string, DeclaredType>;

/**
 * The object types within declared types, by name. Lazy types are looked up by their name, which is their path, so that an environment
 * costs what its expressions use, not what its schema contains: each level of a schema may have rules.
 */
class DeclaredStructs {
  readonly #known = new Map<string, Fields>();
  readonly #lazy: (readonly [name: string, root: DeclaredType])[] = [];

  constructor(declared: Iterable<DeclaredType>) {
    for (const type of declared) this.#collect(type);
  }

  /** The fields of an object; undefined for an unknown name. */
  fieldsOf(name: string): Fields | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    for (const [rootName, root] of this.#lazy) {
      const fields = name.startsWith(`${rootName}.`) ? fieldsAt(root, name.slice(rootName.length + 1)) : undefined;
      if (fields === undefined) continue;
      this.#known.set(name, fields);
      return fields;
    }
    return undefined;
  }

  #collect(type: DeclaredType): void {
    if (type.element !== undefined) this.#collect(type.element);
    if (type.type.kind !== 'struct' || this.#known.has(type.type.name)) return;
    const { fields } = type;
    if (fields === undefined) return;
    this.#known.set(type.type.name, fields);
    if (type.isLazy === true) this.#lazy.push([type.type.name, type]);
    else for (const field of fields.values()) this.#collect(field);
  }
}

/** The fields of the object at a path below a type; undefined if it does not exist. Field names contain no dots. */
function fieldsAt(root: DeclaredType, path: string): Fields | undefined {
  let type: DeclaredType | undefined = root;
  for (const part of path.split('.')) {
    type = part === '@idx' || part === '@elem' ? type.element : type.fields?.get(part);
    if (type === undefined) return undefined;
  }
  return type.fields;
}

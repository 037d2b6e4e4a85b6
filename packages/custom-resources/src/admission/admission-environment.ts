import {
  type Allowance,
  CelError,
  type CelType,
  createEnvironment,
  type DeclaredType,
  declaredBool,
  declaredDyn,
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
  declaredTimestamp,
  DYN,
  EntryMap,
  type Environment,
  formatType,
  type FunctionDeclaration,
  NULL,
  type Program,
  sameType,
  STRING,
  structOf,
  type StructTypes,
} from '@gantry/cel';
import { AUTHORIZER, AUTHORIZER_FUNCTIONS, RESOURCE_CHECK } from './authorizer-library.ts';

/** The variables and functions that expressions of a webhook or policy may use, besides the request. */
export interface ExpressionScope {
  readonly params: boolean;
  readonly authorizer: boolean;
  /** Whether they may create objects and patches (`Object{…}`, `JSONPatch{…}`). */
  readonly patches: boolean;
}

/** A program, or the reason why the expression cannot be compiled. */
export type Compiled =
  | { readonly ok: true; readonly program: Program }
  | { readonly ok: false; readonly detail: string };

/** Declared types of the object and the parameters; undeclared ones are dynamic. Compiled expressions count against the allowance. */
export interface ExpressionParts {
  readonly object?: DeclaredType;
  readonly params?: DeclaredType;
  readonly allowance?: Allowance;
}

const UNBOUNDED = 3 * 1024 * 1024;
const struct = (name: string, fields: Readonly<Record<string, DeclaredType>>): DeclaredType =>
  declaredObject(`kubernetes.${name}`, new Map(Object.entries(fields)));
const texts = declaredList(declaredString, UNBOUNDED);
const textMap = declaredMap(declaredString, UNBOUNDED);

const KIND = struct('GroupVersionKind', { group: declaredString, version: declaredString, kind: declaredString });
const RESOURCE = struct('GroupVersionResource', {
  group: declaredString,
  version: declaredString,
  resource: declaredString,
});

const REQUEST = struct('AdmissionRequest', {
  kind: KIND,
  resource: RESOURCE,
  subResource: declaredString,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: declaredString,
  name: declaredString,
  namespace: declaredString,
  operation: declaredString,
  userInfo: struct('UserInfo', {
    username: declaredString,
    uid: declaredString,
    groups: texts,
    extra: declaredMap(texts, UNBOUNDED),
  }),
  dryRun: declaredBool,
  options: declaredDyn,
});

const NAMESPACE = struct('Namespace', {
  metadata: struct('NamespaceMetadata', {
    name: declaredString,
    generateName: declaredString,
    namespace: declaredString,
    labels: textMap,
    annotations: textMap,
    UID: declaredString,
    creationTimestamp: declaredTimestamp,
    deletionGracePeriodSeconds: declaredInt,
    deletionTimestamp: declaredTimestamp,
    generation: declaredInt,
    resourceVersion: declaredString,
    finalizers: texts,
  }),
  spec: struct('NamespaceSpec', { finalizers: texts }),
  status: struct('NamespaceStatus', {
    conditions: declaredList(
      struct('NamespaceCondition', {
        status: declaredString,
        type: declaredString,
        lastTransitionTime: declaredTimestamp,
        message: declaredString,
        reason: declaredString,
      }),
      UNBOUNDED,
    ),
    phase: declaredString,
  }),
});

export const OBJECT = structOf('Object');
export const JSON_PATCH = structOf('JSONPatch');
const PATCH_FIELDS: Readonly<Record<string, CelType>> = { op: STRING, path: STRING, from: STRING, value: DYN };

/** Objects accept any fields; patches have the fields of JSON patches. */
const PATCH_STRUCTS: StructTypes = {
  fieldType: (struct, field) => {
    if (struct === 'JSONPatch') return PATCH_FIELDS[field];
    return struct === 'Object' || struct.startsWith('Object.') ? DYN : null;
  },
  create: (struct, fields) => EntryMap.object(struct, fields),
};

/** Functions for writing patches. */
const PATCH_FUNCTIONS: readonly FunctionDeclaration[] = [
  {
    name: 'jsonpatch.escapeKey',
    overloads: [
      {
        id: 'string_jsonpatch_escapeKey_string',
        member: false,
        args: [STRING],
        result: STRING,
        call: (key) =>
          typeof key === 'string' ? key.replaceAll('~', '~0').replaceAll('/', '~1') : new CelError('no such overload'),
      },
    ],
  },
];

/** Compiles the expressions of one webhook or policy. Later expressions can use declared variables as `variables.<name>`. */
export class AdmissionExpressions {
  readonly #scope: ExpressionScope;
  readonly #declared = new Map<string, DeclaredType>();
  readonly #composed: boolean;
  readonly #of: ExpressionParts;
  /** Environments by scope. They share the map of variables, so they also know variables that are declared later. */
  readonly #environments = new Map<string, Environment>();

  /** With `composed`, `variables` exists even before a variable is declared. */
  constructor(scope: ExpressionScope, composed: boolean, of: ExpressionParts = {}) {
    this.#scope = scope;
    this.#of = of;
    this.#composed = composed;
  }

  /** Declares a variable with its type. */
  declare(name: string, type: CelType): void {
    this.#declared.set(name, { type, maxElements: UNBOUNDED, minSerializedSize: 0 });
  }

  /** Compiles an expression whose type must be one of `results`; any type if that is empty. */
  compile(expression: string, results: readonly CelType[], scope: ExpressionScope = this.#scope): Compiled {
    const compilation = this.#environmentFor(scope).compile(expression);
    if (!compilation.ok) return { ok: false, detail: `${compilation.stage} failed: ${compilation.issues}` };
    const { program } = compilation;
    if (results.length === 0 || results.some((type) => sameType(type, program.resultType))) {
      return { ok: true, program };
    }
    const [only] = results.map(shown);
    const wanted = results.length === 1 ? only : `one of [${results.map(shown).join(' ')}]`;
    return { ok: false, detail: `must evaluate to ${wanted ?? ''} but got ${shown(program.resultType)}` };
  }

  #environmentFor(scope: ExpressionScope): Environment {
    const key = `${scope.params} ${scope.authorizer} ${scope.patches}`;
    const known = this.#environments.get(key);
    if (known !== undefined) return known;
    const made = this.#create(scope);
    this.#environments.set(key, made);
    return made;
  }

  #create({ params, authorizer, patches }: ExpressionScope): Environment {
    const variables = declaredObject('kubernetes.variables', this.#declared);
    const { object = DYN, params: parameters = DYN, allowance } = this.#of;
    return createEnvironment({
      variables: {
        object,
        oldObject: object,
        namespaceObject: NAMESPACE,
        request: REQUEST,
        ...(params ? { params: parameters } : {}),
        ...(authorizer ? { authorizer: AUTHORIZER, 'authorizer.requestResource': RESOURCE_CHECK } : {}),
        ...(this.#composed ? { variables } : {}),
      },
      functions: patches ? [...AUTHORIZER_FUNCTIONS, ...PATCH_FUNCTIONS] : AUTHORIZER_FUNCTIONS,
      ...(patches ? { structs: PATCH_STRUCTS } : {}),
      allowance,
    });
  }
}

function shown(type: CelType): string {
  return sameType(type, NULL) ? 'null_type' : formatType(type);
}

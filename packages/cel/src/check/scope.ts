import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  STRING,
  structOf,
  TIMESTAMP,
  typeOfType,
  UINT,
} from '../types.ts';
import { type StructTypes } from '../environment/environment.ts';
import { type FunctionDeclaration } from '../environment/function-declaration.ts';

/** The declarations that the checker resolves names against. */
export interface Declarations {
  readonly variables: ReadonlyMap<string, CelType>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly structs: StructTypes;
}

/** Types by the names that expressions may use, as in `type(x) == int`. */
const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['bool', BOOL],
  ['bytes', BYTES],
  ['double', DOUBLE],
  ['google.protobuf.Duration', DURATION],
  ['google.protobuf.Timestamp', TIMESTAMP],
  ['int', INT],
  ['list', listOf(DYN)],
  ['map', mapOf(DYN, DYN)],
  ['null_type', NULL],
  ['string', STRING],
  ['type', typeOfType()],
  ['uint', UINT],
]);

/** A resolved name: its type, and the type that it names when it is a type name. */
export interface Ident {
  readonly name: string;
  readonly type: CelType;
  readonly typeName?: string;
}

/** The names visible at one place in an expression. Variables of enclosing folds shadow the others. */
export class Scope {
  readonly #declarations: Declarations;
  readonly #parent: Scope | undefined;
  readonly #locals: ReadonlyMap<string, CelType>;

  constructor(declarations: Declarations, parent?: Scope, locals: ReadonlyMap<string, CelType> = new Map()) {
    this.#declarations = declarations;
    this.#parent = parent;
    this.#locals = locals;
  }

  within(locals: ReadonlyMap<string, CelType>): Scope {
    return new Scope(this.#declarations, this, locals);
  }

  ident(written: string): Ident | undefined {
    const name = written.startsWith('.') ? written.slice(1) : written;
    const type = this.#local(name) ?? this.#declarations.variables.get(name);
    if (type !== undefined) return { name, type };
    if (this.#declarations.structs.fieldType(name, '') !== null) {
      return { name, type: typeOfType(structOf(name)), typeName: name };
    }
    const named = TYPE_NAMES.get(name);
    if (named === undefined) return undefined;
    return { name, type: name === 'type' ? named : typeOfType(named), typeName: name };
  }

  function(written: string): FunctionDeclaration | undefined {
    return this.#declarations.functions.get(written.startsWith('.') ? written.slice(1) : written);
  }

  fieldType(struct: string, field: string): CelType | undefined | null {
    return this.#declarations.structs.fieldType(struct, field);
  }

  #local(name: string): CelType | undefined {
    const type = this.#locals.get(name);
    return type === undefined && this.#parent !== undefined ? this.#parent.#local(name) : type;
  }
}

import { memberOf } from '@gantry/objects';

/** The parts of an OpenAPI v3 schema that help an editor. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/** Schemas by name, as `components.schemas` of the server's `/openapi/v3/...` has them. */
export type Schemas = Readonly<Record<string, Schema>>;

const PREFIX = '#/components/schemas/';
/** References in references: the server's schemas have two. */
const MAX_REFERENCES = 8;

/** Schemas of one group and version, with their references resolved where they are read. */
export class SchemaLookup {
  readonly #schemas: Schemas;
  readonly root: Schema | undefined;

  constructor(schemas: Schemas, group: string, version: string, kind: string) {
    this.#schemas = schemas;
    this.root = Object.values(schemas).find((schema) =>
      schema['x-kubernetes-group-version-kind']?.some(
        (of) => of.group === group && of.version === version && of.kind === kind,
      ),
    );
  }

  /** The schema that a reference means, with the description beside the reference. */
  resolve(schema: Schema | undefined): Schema | undefined {
    let current = schema;
    for (let i = 0; current !== undefined && i < MAX_REFERENCES; i++) {
      const target = current.$ref ?? current.allOf?.[0]?.$ref;
      if (target === undefined) return current;
      const { $ref: _ref, allOf: _allOf, ...beside } = current;
      const found = memberOf(this.#schemas, target.slice(PREFIX.length));
      current = found === undefined ? undefined : { ...found, ...beside };
    }
    return current;
  }

  /** The schema of a member of a map or, with ITEM, of an item of a list. */
  member(parent: Schema | undefined, key: string): Schema | undefined {
    const resolved = this.resolve(parent);
    if (key === ITEM) return this.resolve(resolved?.items);
    const additional = resolved?.additionalProperties;
    return this.resolve(
      memberOf(resolved?.properties, key) ?? (typeof additional === 'object' ? additional : undefined),
    );
  }

  /** The schema at a path; undefined where the server says nothing. */
  at(path: readonly string[]): Schema | undefined {
    let current = this.resolve(this.root);
    for (const key of path) current = this.member(current, key);
    return current;
  }
}

/** In a path: an item of a list. */
export const ITEM = '[]';

/** Whether a map may have keys that its schema does not name. */
export function isOpen(schema: Schema): boolean {
  return (
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    (schema.additionalProperties !== undefined && schema.additionalProperties !== false) ||
    schema.properties === undefined
  );
}

/** `string`, `[]Container`, `map`: a type for people. */
export function typeName(schema: Schema | undefined, lookup: SchemaLookup): string {
  let current = schema;
  let name = '';
  // A list may be one of itself.
  for (let i = 0; current?.type === 'array' && i < MAX_REFERENCES; i++) {
    name += 'list of ';
    current = lookup.resolve(current.items);
  }
  return `${name}${current?.type ?? 'object'}`;
}

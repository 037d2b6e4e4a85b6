import { type JsonSchema, propertyOf, valuesOf } from '@gantry/apimachinery';

/** The target of a field path; `schema` is undefined if the target has no schema. */
export interface FoundField {
  readonly names: readonly string[];
  readonly schema: JsonSchema | undefined;
}

/** The tokens `.`, `[`, `]`, a quoted string, or the text between them. */
const TOKEN = /[.[\]]|'(?:\\.|[^'\\])*'|'.*$|[^.[\]]+/gs;

const ESCAPES: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Follows a path such as `.spec.a` or `.spec['a.b']` through a schema. Returns an error message if it does not exist. */
export function followFieldPath(
  schema: JsonSchema,
  path: string,
  { brackets = true }: { readonly brackets?: boolean } = {},
): FoundField | string {
  const tokens = path.match(TOKEN) ?? [];
  const names: string[] = [];
  let at: JsonSchema | undefined = schema;
  let next = 0;
  const take = (): string | undefined => tokens[next++];
  for (let token = take(); token !== undefined; token = take()) {
    let name: string | undefined;
    if (token === '.') name = take();
    else if (token === '[') {
      if (!brackets) return 'array notation is not allowed';
      const quoted = take();
      if (quoted !== undefined && !/^'.*'$/s.test(quoted)) return `expected single quoted string but got ${quoted}`;
      name = quoted?.slice(1, -1).replace(/\\(.)/gs, (_whole, letter: string) => ESCAPES[letter] ?? letter);
    } else return `expected [ or . but got: ${token}`;
    if (name === undefined) return 'unexpected end of JSON path';
    const found = step(at, name);
    if (found === 'nowhere') return 'does not refer to a valid field';
    names.push(name);
    at = found;
    if (token !== '[') continue;
    const end = take();
    if (end === undefined) return 'unexpected end of JSON path';
    if (end !== ']') return `expected ] but got ${end}`;
  }
  return { names, schema: at };
}

function step(schema: JsonSchema | undefined, name: string): JsonSchema | undefined | 'nowhere' {
  const found = propertyOf(schema, name);
  if (found !== undefined) return found;
  if (schema === undefined || hasProperties(schema) || schema.additionalProperties === undefined) return 'nowhere';
  return valuesOf(schema);
}

/** Cached per schema: many paths may lead through a schema with very many properties. */
const known = new WeakMap<object, boolean>();

function hasProperties({ properties }: JsonSchema): boolean {
  if (properties === undefined) return false;
  const before = known.get(properties);
  if (before !== undefined) return before;
  const isThere = Object.keys(properties).length > 0;
  known.set(properties, isThere);
  return isThere;
}

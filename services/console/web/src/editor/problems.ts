import { isMap, isScalar, isSeq, type Node, parseDocument } from 'yaml';
import { isOpen, ITEM, type Schema, type SchemaLookup } from './schema.ts';

/** What is wrong with a part of a YAML text. */
export interface Problem {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

const MAX_PROBLEMS = 100;

/** Errors of syntax; without them, fields that the schema does not know, values of another type, and missing fields. */
export function problemsOf(text: string, lookup: SchemaLookup | undefined): readonly Problem[] {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true, maxAliasCount: 0 } as never);
  if (document.errors.length > 0) return document.errors.map(({ pos: [from, to], message }) => ({ from, to, message }));
  const out: Problem[] = [];
  if (lookup !== undefined) check(document.contents, lookup.resolve(lookup.root), lookup, out);
  return out.slice(0, MAX_PROBLEMS);
}

function check(node: unknown, schema: Schema | undefined, lookup: SchemaLookup, out: Problem[]): void {
  if (schema === undefined || out.length >= MAX_PROBLEMS) return;
  if (isMap(node)) checkMap(node, schema, lookup, out);
  else if (isSeq(node)) {
    if (schema.type !== undefined && schema.type !== 'array') out.push(wrongType(node, schema));
    for (const item of node.items) check(item, lookup.member(schema, ITEM), lookup, out);
  } else if (isScalar(node) && !fits(node.value, schema)) out.push(wrongType(node, schema));
}

function checkMap(
  node: Node & { items: readonly unknown[] },
  schema: Schema,
  lookup: SchemaLookup,
  out: Problem[],
): void {
  if (schema.type !== undefined && schema.type !== 'object') {
    out.push(wrongType(node, schema));
    return;
  }
  const present = new Set<string>();
  for (const { key, value } of node.items as readonly { key: unknown; value: unknown }[]) {
    if (!isScalar(key)) continue;
    const name = String(key.value);
    present.add(name);
    const member = lookup.member(schema, name);
    if (member === undefined && !isOpen(schema)) out.push(problem(key, `unknown field "${name}"`));
    else check(value, member, lookup, out);
  }
  const missing = (schema.required ?? []).filter((name) => !present.has(name));
  if (missing.length > 0) out.push(problem(node, `missing: ${missing.join(', ')}`));
}

function wrongType(node: Node, schema: Schema): Problem {
  return problem(node, `must be of type ${schema.type ?? 'object'}`);
}

function problem(node: Node, message: string): Problem {
  const [from, to] = node.range ?? [0, 0];
  return { from, to, message };
}

/** Whether a scalar has its schema's type. Without a type, numbers and texts are possible (quantities, ports). */
function fits(value: unknown, { type }: Schema): boolean {
  if (value === null || type === undefined) return true;
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string';
    default:
      return false;
  }
}

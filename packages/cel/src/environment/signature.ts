import { AssertionError } from '@gantry/base';
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
  opaqueOf,
  optionalOf,
  STRING,
  structOf,
  TIMESTAMP,
  typeOfType,
  UINT,
} from '../types.ts';

export interface Signature {
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
}

const NAMED: Readonly<Record<string, CelType>> = {
  bool: BOOL,
  bytes: BYTES,
  double: DOUBLE,
  duration: DURATION,
  dyn: DYN,
  int: INT,
  null: NULL,
  string: STRING,
  timestamp: TIMESTAMP,
  uint: UINT,
};

/** Opaque types. Other dotted names are messages. */
const OPAQUE = new Set(['net.IP', 'net.CIDR']);

/** Reads `(int, A) -> bool`, or `string.(int) -> string` for a member. */
export function parseSignature(text: string): Signature {
  const [left = '', right = ''] = text.split(' -> ');
  const member = /^(.*)\.\((.*)\)$/.exec(left);
  const args = member?.[2] ?? left.slice(1, -1);
  const types = splitTopLevel(args).map(parseType);
  return {
    member: member !== null,
    args: member === null ? types : [parseType(member[1] ?? ''), ...types],
    result: parseType(right),
  };
}

function splitTopLevel(list: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const char of list) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) {
      parts.push(part.trim());
      part = '';
    } else part += char;
  }
  if (part.trim() !== '') parts.push(part.trim());
  return parts;
}

/** Reads a type as messages print it. A single capital letter is a type parameter. */
export function parseType(text: string): CelType {
  const named = NAMED[text];
  if (named !== undefined) return named;
  if (/^[A-Z]$/.test(text)) return { kind: 'parameter', name: text };
  const generic = /^([a-z_]+)\((.*)\)$/.exec(text);
  if (generic === null) {
    if (!text.includes('.')) throw new AssertionError(`no type ${text}`);
    return OPAQUE.has(text) ? opaqueOf(text) : structOf(text);
  }
  const [first, second] = splitTopLevel(generic[2] ?? '').map(parseType);
  if (first === undefined) throw new AssertionError(`no type ${text}`);
  switch (generic[1]) {
    case 'list':
      return listOf(first);
    case 'map':
      return mapOf(first, second ?? DYN);
    case 'optional':
      return optionalOf(first);
    case 'type':
      return typeOfType(first);
    default:
      throw new AssertionError(`no type ${text}`);
  }
}

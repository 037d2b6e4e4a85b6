/** Types without parameters and without a name. */
export type SimpleKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'null'
  | 'string'
  | 'timestamp'
  | 'uint';

/**
 * A type as the checker sees it. `struct` is a message: the environment knows its fields. `opaque` is a type with functions only,
 * such as `optional_type` and `net.IP`.
 */
export type CelType =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'struct'; readonly name: string }
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly CelType[] }
  | { readonly kind: 'type'; readonly parameter: CelType | undefined }
  | { readonly kind: 'parameter'; readonly name: string };

const simple = <K extends SimpleKind>(kind: K): { readonly kind: K } => Object.freeze({ kind });

export const BOOL = simple('bool');
export const BYTES = simple('bytes');
export const DOUBLE = simple('double');
export const DURATION = simple('duration');
/** Checked at evaluation. */
export const DYN = simple('dyn');
export const ERROR = simple('error');
export const INT = simple('int');
export const NULL = simple('null');
export const STRING = simple('string');
export const TIMESTAMP = simple('timestamp');
export const UINT = simple('uint');

export function listOf(element: CelType): CelType {
  return { kind: 'list', element };
}

export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: 'map', key, value };
}

export function structOf(name: string): CelType {
  return { kind: 'struct', name };
}

export function opaqueOf(name: string, ...parameters: readonly CelType[]): CelType {
  return { kind: 'opaque', name, parameters };
}

export function optionalOf(type: CelType): CelType {
  return opaqueOf('optional_type', type);
}

export function typeOfType(parameter?: CelType): CelType {
  return { kind: 'type', parameter };
}

/** The type's parameters in written order. */
export function parametersOf(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case 'list':
      return [type.element];
    case 'map':
      return [type.key, type.value];
    case 'opaque':
      return type.parameters;
    case 'type':
      return type.parameter === undefined ? [] : [type.parameter];
    default:
      return [];
  }
}

const OPEN = new WeakMap<CelType, boolean>();

/** Whether the type contains type parameters. Memoised, because types are as deep as expressions nest. */
export function isOpen(type: CelType): boolean {
  if (type.kind === 'parameter') return true;
  const known = OPEN.get(type);
  if (known !== undefined) return known;
  const open = parametersOf(type).some(isOpen);
  OPEN.set(type, open);
  return open;
}

/** The type with each of its parameters replaced. */
export function mapParameters(type: CelType, replace: (parameter: CelType) => CelType): CelType {
  switch (type.kind) {
    case 'list':
      return listOf(replace(type.element));
    case 'map':
      return mapOf(replace(type.key), replace(type.value));
    case 'opaque':
      return type.parameters.length === 0 ? type : opaqueOf(type.name, ...type.parameters.map(replace));
    case 'type':
      return type.parameter === undefined ? type : typeOfType(replace(type.parameter));
    default:
      return type;
  }
}

/** The type's name without its parameters: `list`, `optional_type`, `google.protobuf.Duration`. */
export function typeNameOf(type: CelType): string {
  switch (type.kind) {
    case 'struct':
    case 'opaque':
    case 'parameter':
      return type.name;
    case 'duration':
      return 'google.protobuf.Duration';
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'null':
      return 'null_type';
    default:
      return type.kind;
  }
}

/** The type as messages print it: `map(string, int)`, `type(int)`, `!error!`. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'error':
      return '!error!';
    case 'parameter':
    case 'struct':
      return type.name;
    case 'list':
    case 'map':
    case 'opaque':
    case 'type': {
      const parameters = parametersOf(type);
      const name = typeNameOf(type);
      return parameters.length === 0 ? name : `${name}(${parameters.map(formatType).join(', ')})`;
    }
    default:
      return type.kind;
  }
}

/** Whether two types are the same, parameters included. */
export function sameType(left: CelType, right: CelType): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || typeNameOf(left) !== typeNameOf(right)) return false;
  const [ours, theirs] = [parametersOf(left), parametersOf(right)];
  return ours.length === theirs.length && ours.every((type, index) => sameType(type, theirs[index] ?? ERROR));
}

export function isDyn(type: CelType): boolean {
  return type.kind === 'dyn';
}

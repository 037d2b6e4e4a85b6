import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { type CelType, structOf } from '../types.ts';
import { CelError, CelOpaque, type CelResult, type CelValue, isError } from '../values/value.ts';

class SemverValue extends CelOpaque {
  readonly type: CelType = structOf('kubernetes.Semver');
  readonly parts: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];

  constructor(parts: readonly [bigint, bigint, bigint], pre: readonly string[]) {
    super();
    this.parts = parts;
    this.pre = pre;
  }

  equals(other: CelOpaque): boolean {
    return other instanceof SemverValue && compareVersions(this, other) === 0;
  }
}

function order(left: bigint | string | number, right: bigint | string | number): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function compareVersions(left: SemverValue, right: SemverValue): number {
  for (const [index, part] of left.parts.entries()) {
    const outcome = order(part, right.parts[index] ?? 0n);
    if (outcome !== 0) return outcome;
  }
  if (left.pre.length === 0 || right.pre.length === 0)
    return order(right.pre.length, left.pre.length) && (left.pre.length === 0 ? 1 : -1);
  for (let index = 0; index < Math.min(left.pre.length, right.pre.length); index++) {
    const [a = '', b = ''] = [left.pre[index], right.pre[index]];
    const [numericA, numericB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
    if (numericA !== numericB) return numericA ? -1 : 1;
    const outcome = numericA ? order(BigInt(a), BigInt(b)) : order(a, b);
    if (outcome !== 0) return outcome;
  }
  return order(left.pre.length, right.pre.length);
}

/** Numbers of versions have 64 bits. */
const MAX_DIGITS = 20;

function outOfRange(number: string): string {
  return `strconv.ParseUint: parsing ${JSON.stringify(number)}: value out of range`;
}

const IDENTIFIER = /^[0-9A-Za-z-]+$/;

function parse(text: string): SemverValue | string {
  if (text === '') return 'Version string empty';
  const fields = text.split('.');
  if (fields.length < 3) return 'No Major.Minor.Patch elements found';
  const [major = '', minor = '', ...rest] = fields;
  const tail = rest.join('.');
  const plus = tail.indexOf('+');
  const build = plus < 0 ? undefined : tail.slice(plus + 1).split('.');
  const head = plus < 0 ? tail : tail.slice(0, plus);
  const dash = head.indexOf('-');
  const patch = dash < 0 ? head : head.slice(0, dash);
  const pre = dash < 0 ? [] : head.slice(dash + 1).split('.');
  for (const [name, number] of [
    ['Major', major],
    ['Minor', minor],
    ['Patch', patch],
  ] as const) {
    if (!/^\d+$/.test(number))
      return `Invalid character(s) found in ${name.toLowerCase()} number ${JSON.stringify(number)}`;
    if (number.length > MAX_DIGITS) return outOfRange(number);
    if (number.length > 1 && number.startsWith('0'))
      return `${name} number must not contain leading zeroes ${JSON.stringify(number)}`;
  }
  for (const part of pre) {
    if (!IDENTIFIER.test(part))
      return part === '' ? 'Prerelease is empty' : `Invalid character(s) found in prerelease ${JSON.stringify(part)}`;
    if (part.length > MAX_DIGITS && /^\d+$/.test(part)) return outOfRange(part);
    if (/^0\d+$/.test(part))
      return `Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(part)}`;
  }
  for (const part of build ?? []) {
    if (part === '') return 'Build meta data is empty';
    if (!IDENTIFIER.test(part)) return `Invalid character(s) found in build meta data ${JSON.stringify(part)}`;
  }
  return new SemverValue([BigInt(major), BigInt(minor), BigInt(patch)], pre);
}

/** Normalises `v1`, `1.2` and `01.2.3`. */
function normalize(text: string): SemverValue | string {
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.');
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join('.')])];
  const trimmed = parts.map((part) => (part.length > 1 ? part.replace(/^0+(?=\d)/, '') : part));
  if (trimmed.length < 3 && /[+-]/.test(trimmed.at(-1) ?? ''))
    return 'short version cannot contain PreRelease/Build meta data';
  while (trimmed.length < 3) trimmed.push('0');
  return parse(trimmed.join('.'));
}

function toSemver(text: CelValue, lenient: CelValue = false): CelResult {
  const parsed = lenient === true ? normalize(text as string) : parse(text as string);
  return typeof parsed === 'string' ? new CelError(parsed) : parsed;
}

const V = 'kubernetes.Semver';
const compare = (left: CelValue, right: CelValue) => compareVersions(left as SemverValue, right as SemverValue);
const part = (index: 0 | 1 | 2) => (value: CelValue) => (value as SemverValue).parts[index];

/** Functions over semantic versions. */
export const VERSIONS: readonly FunctionDeclaration[] = [
  declare(
    'semver',
    ['string_to_semver', `(string) -> ${V}`, toSemver],
    ['string_bool_to_semver', `(string, bool) -> ${V}`, toSemver],
  ),
  declare(
    'isSemver',
    ['is_semver_string', '(string) -> bool', (text) => !isError(toSemver(text))],
    ['is_semver_string_bool', '(string, bool) -> bool', (text, lenient) => !isError(toSemver(text, lenient))],
  ),
  declare('major', ['semver_major', `${V}.() -> int`, part(0)]),
  declare('minor', ['semver_minor', `${V}.() -> int`, part(1)]),
  declare('patch', ['semver_patch', `${V}.() -> int`, part(2)]),
  declare('isLessThan', ['semver_is_less_than', `${V}.(${V}) -> bool`, (left, right) => compare(left, right) < 0]),
  declare('isGreaterThan', [
    'semver_is_greater_than',
    `${V}.(${V}) -> bool`,
    (left, right) => compare(left, right) > 0,
  ]),
  declare('compareTo', ['semver_compare_to', `${V}.(${V}) -> int`, (left, right) => BigInt(compare(left, right))]),
];

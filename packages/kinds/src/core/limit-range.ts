import { append } from '@gantry/base';
import {
  compareQuantity,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  LIMIT_RANGES,
  type LimitRange,
  type LimitRangeItem,
  memberOf,
  parseQuantity,
  qualifiedName,
  repeatedAt,
  required,
} from '@gantry/objects';
import { createdAtColumn, defineResource, invalidAll, nameColumn } from '@gantry/apimachinery';
import { isOvercommitAllowed, validateAnyResourceName, validateResourceName } from '../pod-spec/compute-resources.ts';

const TYPES = ['Container', 'PersistentVolumeClaim', 'Pod'];
const NANO_PER_UNIT = 1_000_000_000n;
/** Above this value, Kubernetes compares ratios in whole units. */
const MAX_MILLI_UNITS = (2n ** 63n - 1n) / 1000n;

type Amounts = Readonly<Record<string, string>>;

/** Defaults for containers: a missing default limit is the maximum; a missing default request is the default limit, else the minimum. */
function applyDefaults({ spec }: LimitRange): void {
  for (const item of spec?.limits ?? []) {
    if (item.type !== 'Container') continue;
    item.default = { ...item.max, ...item.default };
    item.defaultRequest = { ...item.min, ...item.default, ...item.defaultRequest };
  }
}

/** A LimitRange without a name gets its uid as its name. */
function prepareForCreate({ metadata }: LimitRange): void {
  if ((metadata.name ?? '') === '' && metadata.uid !== undefined) metadata.name = metadata.uid;
}

function validate({ spec }: LimitRange): FieldError[] {
  const limits = spec?.limits ?? [];
  const isRepeated = repeatedAt(limits.map(({ type }) => type));
  return limits.flatMap((item, i) => {
    const path = `spec.limits[${i}]`;
    return [
      ...validateType(item.type ?? '', `${path}.type`),
      ...(isRepeated(i) ? [duplicate(`${path}.type`, item.type)] : []),
      ...validateNames(item, path),
      ...resourcesOf(item).flatMap((name) => validateAmounts(item, name, path)),
    ];
  });
}

function validateType(type: string, path: string): FieldError[] {
  const errors = invalidAll(path, type, qualifiedName(type));
  if (errors.length > 0 || type.includes('/') || TYPES.includes(type)) return errors;
  return [invalid(path, type, 'must be a standard limit type or fully qualified')];
}

function validateNames(item: LimitRangeItem, path: string): FieldError[] {
  const check = item.type === 'Pod' || item.type === 'Container' ? validateResourceName : validateAnyResourceName;
  const names = (field: 'max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio') =>
    Object.keys(item[field] ?? {}).flatMap((name) => check(name, `${path}.${field}[${name}]`));
  const errors = [...names('max'), ...names('min')];
  for (const field of ['default', 'defaultRequest'] as const) {
    if (item.type !== 'Pod') append(errors, names(field));
    else if (Object.keys(item[field] ?? {}).length > 0) {
      errors.push(forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'"));
    }
  }
  const isBounded = item.min?.['storage'] !== undefined || item.max?.['storage'] !== undefined;
  if (item.type === 'PersistentVolumeClaim' && !isBounded) {
    const detail = 'either minimum or maximum storage value is required, but neither was provided';
    errors.push(required(`${path}.limits`, detail));
  }
  return [...errors, ...names('maxLimitRequestRatio')];
}

function resourcesOf(item: LimitRangeItem): string[] {
  const defaults: Amounts[] = item.type === 'Pod' ? [] : [item.default ?? {}, item.defaultRequest ?? {}];
  const all: Amounts[] = [item.max ?? {}, item.min ?? {}, ...defaults, item.maxLimitRequestRatio ?? {}];
  return [...new Set(all.flatMap((amounts) => Object.keys(amounts)))].sort();
}

/** Checks the order of amounts. Errors name the field and the value as Kubernetes does. */
function validateAmounts(item: LimitRangeItem, name: string, path: string): FieldError[] {
  const pod = item.type === 'Pod';
  const amounts = {
    min: memberOf(item.min, name),
    max: memberOf(item.max, name),
    default: pod ? undefined : memberOf(item.default, name),
    defaultRequest: pod ? undefined : memberOf(item.defaultRequest, name),
  };
  type Field = keyof typeof amounts;
  const orders: readonly (readonly [less: Field, more: Field, blamed: Field, shown: Field, words: string])[] = [
    ['min', 'max', 'min', 'min', 'min value %s is greater than max value %s'],
    [
      'min',
      'defaultRequest',
      'defaultRequest',
      'defaultRequest',
      'min value %s is greater than default request value %s',
    ],
    [
      'defaultRequest',
      'max',
      'defaultRequest',
      'defaultRequest',
      'default request value %s is greater than max value %s',
    ],
    [
      'defaultRequest',
      'default',
      'defaultRequest',
      'defaultRequest',
      'default request value %s is greater than default limit value %s',
    ],
    ['min', 'default', 'default', 'min', 'min value %s is greater than default value %s'],
    ['default', 'max', 'default', 'max', 'default value %s is greater than max value %s'],
  ];
  const errors = orders.flatMap(([less, more, blamed, shown, words]) => {
    const [a, b] = [amounts[less], amounts[more]];
    if (a === undefined || b === undefined || compareQuantity(parseQuantity(a), parseQuantity(b)) <= 0) return [];
    return [invalid(`${path}.${blamed}[${name}]`, amounts[shown], words.replace('%s', a).replace('%s', b))];
  });
  append(
    errors,
    validateRatio(memberOf(item.maxLimitRequestRatio, name), amounts, `${path}.maxLimitRequestRatio[${name}]`),
  );
  const { default: limit, defaultRequest: request } = amounts;
  if (!isOvercommitAllowed(name) && limit !== undefined && request !== undefined) {
    if (compareQuantity(parseQuantity(limit), parseQuantity(request)) !== 0) {
      const detail = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
      errors.push(invalid(`${path}.defaultRequest[${name}]`, request, detail));
    }
  }
  return errors;
}

function validateRatio(
  ratio: string | undefined,
  { min, max }: { readonly min: string | undefined; readonly max: string | undefined },
  path: string,
): FieldError[] {
  if (ratio === undefined) return [];
  const { nano } = parseQuantity(ratio);
  const errors = nano < NANO_PER_UNIT ? [invalid(path, ratio, `ratio ${ratio} is less than 1`)] : [];
  if (min === undefined || max === undefined) return errors;
  const all = [nano, parseQuantity(min).nano, parseQuantity(max).nano];
  const fine = all.every((amount) => amount / NANO_PER_UNIT < MAX_MILLI_UNITS);
  const [most = 0, least = 0, top = 0] = all.map((amount) => roundUp(amount, fine ? 1_000_000n : NANO_PER_UNIT));
  const limit = top / least;
  if ((fine ? most / 1000 : most) > limit) {
    errors.push(invalid(path, ratio, `ratio ${ratio} is greater than max/min = ${formatRatio(limit)}`));
  }
  return errors;
}

function roundUp(nano: bigint, step: bigint): number {
  const whole = nano / step;
  return Number(nano > 0n && nano % step !== 0n ? whole + 1n : whole);
}

function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) ? ratio.toFixed(6) : ratio > 0 ? '+Inf' : ratio < 0 ? '-Inf' : 'NaN';
}

export const limitRanges = defineResource(LIMIT_RANGES, {
  shortNames: ['limits'],
  schema: 'core.v1.LimitRange',
  strategy: { applyDefaults, prepareForCreate, validate, metadataOnUpdate: 'object', allowCreateOnUpdate: true },
  columns: [nameColumn, createdAtColumn],
});

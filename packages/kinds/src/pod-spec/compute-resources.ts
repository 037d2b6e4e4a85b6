import { tooMany } from '../fields/bounded-lists.ts';
import { append } from '@gantry/base';
import {
  type FieldError,
  type ResourceRequirements,
  compareQuantity,
  forbidden,
  invalid,
  memberOf,
  parseQuantity,
  qualifiedName,
  required,
} from '@gantry/objects';
import { NON_NEGATIVE, invalidAll } from '@gantry/apimachinery';

const CONTAINER_RESOURCES: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
/** Unprefixed names with a meaning. */
export const STANDARD_RESOURCES: ReadonlySet<string> = new Set([
  ...CONTAINER_RESOURCES,
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'storage',
  'requests.storage',
  'services.nodeports',
  'services.loadbalancers',
]);
const NANO_PER_UNIT = 1_000_000_000n;

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** Whether a resource is Kubernetes' own: its name has no domain, or one of Kubernetes. */
export function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Whether a limit may exceed the request: not for devices and huge pages, which are not shared. */
export function isOvercommitAllowed(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** Whether a name is that of an extended resource (a device), which quotas can limit. */
export function isExtendedResource(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;
}

/** Checks a resource name, for containers or other uses. */
export function validateAnyResourceName(name: string, path: string): FieldError[] {
  const errors = invalidAll(path, name, qualifiedName(name));
  const isKnown = name.includes('/') || STANDARD_RESOURCES.has(name) || isHugePages(name);
  return errors.length > 0 || isKnown
    ? errors
    : [invalid(path, name, 'must be a standard resource type or fully qualified')];
}

/** Checks the name of a resource that a container may request. */
export function validateResourceName(name: string, path: string): FieldError[] {
  const errors = invalidAll(path, name, qualifiedName(name));
  if (!name.includes('/')) {
    if (errors.length === 0 && !STANDARD_RESOURCES.has(name) && !isHugePages(name)) {
      errors.push(invalid(path, name, 'must be a standard resource type or fully qualified'));
    }
    if (!CONTAINER_RESOURCES.has(name) && !isHugePages(name)) {
      errors.push(invalid(path, name, 'must be a standard resource for containers'));
    }
  } else if (!isNative(name) && !isExtendedResource(name)) {
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"));
  }
  return errors;
}

/** Checks an amount: not negative, and an integer for countable resources. */
export function validateAmount(name: string, amount: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { nano } = parseQuantity(amount);
  if (nano < 0n) errors.push(invalid(path, amount, NON_NEGATIVE));
  const counted = !CONTAINER_RESOURCES.has(name) && (!isNative(name) || name === 'pods');
  if (counted && nano % NANO_PER_UNIT !== 0n) errors.push(invalid(path, amount, 'must be an integer'));
  return errors;
}

/** Kubernetes has no such limit. With more, the errors of one container would take a quarter of a second. */
const MAX_RESOURCES = 1000;

/** `validateName` checks resource names: the names allowed for a container differ from those for a pod. */
export function validateResourceRequirements(
  resources: ResourceRequirements | undefined,
  path: string,
  validateName: typeof validateResourceName = validateResourceName,
): FieldError[] {
  const errors: FieldError[] = [];
  const { limits = {}, requests = {} } = resources ?? {};
  for (const [kind, amounts] of Object.entries({ limits, requests })) {
    const count = Object.keys(amounts).length;
    if (count > MAX_RESOURCES) errors.push(tooMany(`${path}.${kind}`, count, MAX_RESOURCES));
  }
  if (errors.length > 0) return errors;
  for (const [name, amount] of Object.entries(limits)) {
    append(errors, validateName(name, `${path}.limits[${name}]`));
    append(errors, validateAmount(name, amount, `${path}.limits[${name}]`));
  }
  for (const [name, amount] of Object.entries(requests)) {
    append(errors, validateName(name, `${path}.requests[${name}]`));
    append(errors, validateAmount(name, amount, `${path}.requests[${name}]`));
    append(errors, validateAgainstLimit(name, amount, memberOf(limits, name), path));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(forbidden(path, 'HugePages require cpu or memory'));
  }
  return errors;
}

function validateAgainstLimit(name: string, amount: string, limit: string | undefined, path: string): FieldError[] {
  if (limit === undefined) {
    const detail = 'Limit must be set for non overcommitable resources';
    return isOvercommitAllowed(name) ? [] : [required(`${path}.limits`, detail)];
  }
  const order = compareQuantity(parseQuantity(amount), parseQuantity(limit));
  if (order !== 0 && !isOvercommitAllowed(name)) {
    return [invalid(`${path}.requests`, amount, `must be equal to ${name} limit of ${limit}`)];
  }
  return order > 0
    ? [invalid(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`)]
    : [];
}

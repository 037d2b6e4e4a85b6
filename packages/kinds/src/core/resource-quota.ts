import {
  type FieldError,
  RESOURCE_QUOTAS,
  type ResourceQuota,
  type ResourceQuotaSpec,
  type ScopedResourceSelectorRequirement,
  compareQuantity,
  invalid,
  memberOf,
  parseQuantity,
  required,
} from '@gantry/objects';
import {
  IMMUTABLE,
  NON_NEGATIVE,
  PART_VERBS,
  ageColumn,
  column,
  defineResource,
  nameColumn,
} from '@gantry/apimachinery';
import {
  isExtendedResource,
  isHugePages,
  STANDARD_RESOURCES,
  validateAnyResourceName,
} from '../pod-spec/compute-resources.ts';
import { countedByName } from '../fields/quota.ts';
import { keepSpec } from '../fields/status.ts';

/** Names that count objects, so their amounts are integers. */
const COUNTED: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);
const POD_RESOURCES = ['pods', 'cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
/** Scopes with the resources that can be counted in them. */
const SCOPES: Readonly<Record<string, readonly string[]>> = {
  Terminating: POD_RESOURCES,
  NotTerminating: POD_RESOURCES,
  BestEffort: ['pods'],
  NotBestEffort: POD_RESOURCES,
  PriorityClass: POD_RESOURCES,
  CrossNamespacePodAffinity: POD_RESOURCES,
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
};
const ONLY_EXISTS = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];
const OPPOSITES = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;
const NANO_PER_UNIT = 1_000_000_000n;

/** Whether the unprefixed name is a quota resource. `storage` alone is not. */
function isQuotaResource(name: string): boolean {
  return (
    (STANDARD_RESOURCES.has(name) && name !== 'storage') || isHugePages(name) || name.startsWith('requests.hugepages-')
  );
}

function validateAmounts(amounts: Readonly<Record<string, string>> | undefined, path: string): FieldError[] {
  return Object.entries(amounts ?? {}).flatMap(([name, amount]) => {
    const at = `${path}[${name}]`;
    const errors = validateAnyResourceName(name, at);
    if (!name.includes('/') && !isQuotaResource(name)) {
      errors.push(invalid(at, name, 'must be a standard resource for quota'));
    }
    const { nano } = parseQuantity(amount);
    if (nano < 0n) errors.push(invalid(at, amount, NON_NEGATIVE));
    if ((COUNTED.has(name) || isExtendedResource(name)) && nano % NANO_PER_UNIT !== 0n) {
      errors.push(invalid(at, amount, 'must be an integer'));
    }
    return errors;
  });
}

function validate({ spec = {}, status = {} }: ResourceQuota): FieldError[] {
  return [...validateSpec(spec), ...validateStatus({ status })];
}

function validateSpec(spec: ResourceQuotaSpec): FieldError[] {
  return [...validateAmounts(spec.hard, 'spec.hard'), ...validateScopes(spec), ...validateSelector(spec)];
}

function validateStatus({ status }: Pick<ResourceQuota, 'status'>): FieldError[] {
  return [...validateAmounts(status?.hard, 'status.hard'), ...validateAmounts(status?.used, 'status.used')];
}

/** The resources that cannot be counted in the scope. */
function uncounted({ hard = {} }: ResourceQuotaSpec, scope: string): readonly string[] {
  const countable = memberOf(SCOPES, scope);
  if (countable === undefined) return [];
  return Object.keys(hard).filter((name) => isQuotaResource(name) && !countable.includes(name));
}

function conflicts(scopes: readonly string[], value: unknown, path: string): FieldError[] {
  return OPPOSITES.filter((pair) => pair.every((scope) => scopes.includes(scope))).map(() =>
    invalid(path, value, 'conflicting scopes'),
  );
}

function validateScopes(spec: ResourceQuotaSpec): FieldError[] {
  const { scopes = [] } = spec;
  const path = 'spec.scopes';
  const errors = scopes.flatMap((scope) => [
    ...(Object.hasOwn(SCOPES, scope) ? [] : [invalid(path, scopes, 'unsupported scope')]),
    ...uncounted(spec, scope).map(() => invalid(path, scopes, 'unsupported scope applied to resource')),
  ]);
  return [...errors, ...conflicts(scopes, scopes, path)];
}

function validateSelector(spec: ResourceQuotaSpec): FieldError[] {
  if (spec.scopeSelector === undefined) return [];
  const path = 'spec.scopeSelector.matchExpressions';
  const requirements = spec.scopeSelector.matchExpressions ?? [];
  const errors = requirements.flatMap((requirement) => {
    const { scopeName = '' } = requirement;
    return [
      ...(Object.hasOwn(SCOPES, scopeName) ? [] : [invalid(`${path}.scopeName`, scopeName, 'unsupported scope')]),
      ...uncounted(spec, scopeName).map(() =>
        invalid(path, spec.scopeSelector, 'unsupported scope applied to resource'),
      ),
      ...validateRequirement(requirement, path),
    ];
  });
  const names = requirements.map(({ scopeName }) => scopeName);
  return [...errors, ...conflicts(names, spec.scopes ?? null, path)];
}

function validateRequirement(requirement: ScopedResourceSelectorRequirement, path: string): FieldError[] {
  const { scopeName, operator = '', values = [] } = requirement;
  const errors: FieldError[] = [];
  if (ONLY_EXISTS.includes(scopeName) && operator !== 'Exists') {
    const detail =
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    errors.push(invalid(`${path}.operator`, operator, detail));
  }
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    return values.length === 0 ? [...errors, required(`${path}.values`, detail)] : errors;
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    return values.length > 0 ? [...errors, invalid(`${path}.values`, values, detail)] : errors;
  }
  return [...errors, invalid(`${path}.operator`, operator, 'not a valid selector operator')];
}

function validateUpdate({ spec = {} }: ResourceQuota, old: ResourceQuota): FieldError[] {
  const sorted = (scopes: readonly string[] | undefined) => [...new Set(scopes ?? [])].sort().join();
  return sorted(spec.scopes) === sorted(old.spec?.scopes)
    ? []
    : [invalid('spec.scopes', spec.scopes ?? null, IMMUTABLE)];
}

function warnings({ spec }: ResourceQuota, old?: ResourceQuota): string[] {
  if (old !== undefined) return [];
  const hard = spec?.hard ?? {};
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((name) => {
    const plain = name === 'cpu' || name === 'memory' ? [name] : [];
    const requestName = [`requests.${name}`, ...plain].find((key) => key in hard);
    const request = requestName === undefined ? undefined : hard[requestName];
    const limit = hard[`limits.${name}`];
    if (request === undefined || limit === undefined) return [];
    if (compareQuantity(parseQuantity(request), parseQuantity(limit)) <= 0) return [];
    return [`ResourceQuota ${requestName ?? ''} (${request}) should be less than limits.${name} (${limit})`];
  });
}

/** Usage and hard limits: `limits.` names in one column, all others in the other. */
function usage({ status = {} }: ResourceQuota, which: 'limits' | 'requests'): string {
  return Object.keys(status.hard ?? {})
    .filter((name) => (name.startsWith('limits.') ? 'limits' : 'requests') === which)
    .sort()
    .map((name) => `${name}: ${status.used?.[name] ?? '0'}/${status.hard?.[name] ?? '0'}`)
    .join(', ');
}

export const resourceQuotas = defineResource(RESOURCE_QUOTAS, {
  shortNames: ['quota'],
  schema: 'core.v1.ResourceQuota',
  strategy: {
    deletionResponse: 'object',
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: (object, old) => {
      object.status = { ...old.status };
    },
    validate,
    validateUpdate,
    warnings,
    metadataOnUpdate: 'change',
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: keepSpec,
      validateUpdate: validateStatus,
    },
  ],
  quota: countedByName('resourcequotas'),
  columns: [
    nameColumn,
    column('Request', 'Request represents a minimum amount of cpu/memory that a container may consume.', (object) =>
      usage(object, 'requests'),
    ),
    column(
      'Limit',
      'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
      (object) => usage(object, 'limits'),
    ),
    ageColumn,
  ],
});

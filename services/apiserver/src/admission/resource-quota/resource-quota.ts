import {
  type Amounts,
  addAmounts,
  attributesClassesOf,
  compareAmounts,
  growthOf,
  isTerminating,
  limitedNames,
  maskAmounts,
  quotaMatches,
  quotaUsage,
} from '@gantry/kinds';
import {
  equalJson,
  type KubeObject,
  type PersistentVolumeClaim,
  type Pod,
  RESOURCE_QUOTAS,
  type ResourceQuota,
  StatusError,
  isPodLevelResource,
} from '@gantry/objects';
import type { AdmissionCheck, AdmissionRequest, Charge, Condition } from '../check/admission-check.ts';
import { refuse } from '../check/refuse.ts';

const MAX_TRIES = 100;
const COMPUTE = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'];

/** The store operations of charges to quotas. */
export interface QuotaCharges {
  /** Called before a charge. Returns the condition that holds until a recount gives the charge back. */
  begin(quota: ResourceQuota, request: AdmissionRequest): Promise<Condition>;
  /** Stores the status of a quota. A conflict contains the stored quota; undefined when it was deleted. */
  updateStatus(
    quota: ResourceQuota,
    request: AdmissionRequest,
  ): Promise<{ readonly kind: 'updated' } | { readonly kind: 'conflict'; readonly quota: ResourceQuota | undefined }>;
}

/**
 * The quota evaluator: rejects objects that exceed the quotas of their namespace. It stores the usage before the object, guarded by the
 * version of the quota, so that several apiservers together never exceed a quota. All attempts of one write charge a quota once, unless a
 * recount gives the charge back. The quota controller corrects the usage of objects that were charged but not stored.
 */
export function resourceQuota(charges: QuotaCharges): AdmissionCheck {
  return {
    name: 'ResourceQuota',
    validate: async (request, reader) => {
      if (!takes(request)) return;
      const quotas = await reader.list<ResourceQuota>(RESOURCE_QUOTAS, request.namespace);
      const wanted = quotas.flatMap((quota) => {
        const growth = growthFor(quota, request);
        if (growth === undefined) return [];
        const earlier = request.charged.get(quota.metadata.uid ?? '');
        if (earlier !== undefined) request.conditions.push(earlier.condition);
        const owed = growthOf(growth, earlier?.amounts ?? {});
        return Object.keys(owed).length === 0 ? [] : [{ quota, owed, earlier }];
      });
      const used = wanted.map((one) => ({ ...one, quota: withUse(one.quota, one.owed, request) }));
      if (request.dryRun) return;
      const begun = await Promise.all(
        used.map(async (one) => ({ ...one, condition: await begin(one, request, charges) })),
      );
      for (const { quota, owed, earlier, condition } of begun) {
        await storeUse(quota, owed, request, charges);
        const amounts = { ...earlier?.amounts };
        for (const [name, amount] of Object.entries(owed)) amounts[name] = addAmounts(amounts[name] ?? '0', amount);
        request.charged.set(quota.metadata.uid ?? '', { amounts, condition });
      }
    },
  };
}

/** The condition of a charge. If the request has charged the quota before, it is the condition of that charge. */
async function begin(
  { quota, earlier }: { readonly quota: ResourceQuota; readonly earlier: Charge | undefined },
  request: AdmissionRequest,
  charges: QuotaCharges,
): Promise<Condition> {
  if (earlier !== undefined) return earlier.condition;
  const condition = await charges.begin(quota, request);
  request.conditions.push(condition);
  return condition;
}

/** Whether the request can increase the usage of a quota. */
function takes(request: AdmissionRequest): boolean {
  const { operation, definition, subresource, object, old } = request;
  const { group, resource } = definition;
  if (!definition.namespaced || !definition.stored || resource === 'events') return false;
  if (subresource === '' && operation === 'create') return true;
  if (operation !== 'update') return false;
  switch (`${group}/${resource}/${subresource}`) {
    case '/pods/':
      return isTerminating(object) !== isTerminating(old ?? object);
    case '/pods/resize':
    case '/services/':
    case '/persistentvolumeclaims/':
    case 'resource.k8s.io/resourceclaims/':
      return true;
    case '/persistentvolumeclaims/status':
      return claimTakes(object, old ?? object);
    default:
      return false;
  }
}

/** Whether the allocated storage of a claim changes, or its VolumeAttributesClass. */
function claimTakes(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const aside = ({ status }: PersistentVolumeClaim) => status?.allocatedResources?.['storage'];
  return aside(claim) !== aside(old) || !equalJson(attributesClassesOf(claim), attributesClassesOf(old));
}

/** Stores the usage. After a conflict, adds the growth to the newer status and tries again. */
async function storeUse(
  first: ResourceQuota,
  growth: Amounts,
  request: AdmissionRequest,
  charges: QuotaCharges,
): Promise<void> {
  let quota = first;
  for (let tries = 1; ; tries++) {
    const outcome = await charges.updateStatus(quota, request);
    if (outcome.kind === 'updated' || outcome.quota === undefined) return;
    if (tries === MAX_TRIES) throw StatusError.conflict(RESOURCE_QUOTAS, quota.metadata.name ?? '');
    quota = withUse(outcome.quota, growth, request);
  }
}

/** The amounts that the request adds to the usage of a quota; undefined when there are none. */
function growthFor(quota: ResourceQuota, request: AdmissionRequest): Amounts | undefined {
  const { definition, object, old } = request;
  if (!quotaMatches(quota, definition, object)) return undefined;
  const names = limitedNames(Object.keys(quota.status?.hard ?? {}), definition);
  if (definition.group === '' && definition.resource === 'pods') requireSaid(quota, names, object, request);
  if (names.some((name) => quota.status?.used?.[name] === undefined)) {
    const what = [...names].sort().join(',');
    throw refuse(request, `status unknown for quota: ${quota.metadata.name ?? ''}, resources: ${what}`);
  }
  const usage = maskAmounts(quotaUsage(definition, object), names);
  const before = old !== undefined && quotaMatches(quota, definition, old) ? quotaUsage(definition, old) : {};
  const growth = growthOf(usage, before);
  return Object.keys(growth).length === 0 ? undefined : growth;
}

/** If the quota limits cpu or memory, every container must specify it. A pod with pod-level resources is exempt. */
function requireSaid(quota: ResourceQuota, names: readonly string[], { spec }: Pod, request: AdmissionRequest): void {
  if (spec === undefined) return;
  const own = [...Object.keys(spec.resources?.requests ?? {}), ...Object.keys(spec.resources?.limits ?? {})];
  if (own.some(isPodLevelResource)) return;
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const missing = COMPUTE.filter((name) => names.includes(name)).flatMap((name) => {
    const of = name.startsWith('limits.') ? 'limits' : 'requests';
    const plain = name.replace(/^(limits|requests)\./, '');
    const silent = containers.filter(({ resources }) => resources?.[of]?.[plain] === undefined);
    return silent.length === 0 ? [] : [{ name, containers: [...new Set(silent.map((one) => one.name))].sort() }];
  });
  if (missing.length === 0) return;
  const told = missing.sort((a, b) => (a.name < b.name ? -1 : 1));
  const list = told.map(({ name, containers: of }) => `${name} for: ${of.join(',')}`).join('; ');
  throw refuse(request, `failed quota: ${quota.metadata.name ?? ''}: must specify ${list}`);
}

/** The quota with increased usage. Throws Forbidden when the usage exceeds the quota. */
function withUse(quota: ResourceQuota, growth: Amounts, request: AdmissionRequest): ResourceQuota & KubeObject {
  const { hard = {}, used = {} } = quota.status ?? {};
  const sum = Object.fromEntries(
    Object.entries(growth).map(([name, amount]) => [name, addAmounts(used[name] ?? '0', amount)]),
  );
  const exceeded = Object.keys(sum).filter((name) => compareAmounts(sum[name] ?? '0', hard[name] ?? '0') > 0);
  // A status reports what has happened already, so it is counted and not rejected.
  if (exceeded.length === 0 || request.subresource === 'status')
    return { ...quota, status: { ...quota.status, used: { ...used, ...sum } } };
  const print = (amounts: Amounts) =>
    exceeded
      .sort()
      .map((name) => `${name}=${amounts[name] ?? '0'}`)
      .join(',');
  const numbers = `requested: ${print(growth)}, used: ${print(used)}, limited: ${print(hard)}`;
  throw refuse(request, `exceeded quota: ${quota.metadata.name ?? ''}, ${numbers}`);
}

import { findResource, type KubeObject, type ResourceRef, type Service, type ServiceCIDR, isReason } from '@gantry/api';
import { type Clock, formatTime, must, sleep } from '@gantry/base';
import { createAllocators, firstAddress, parseAddressRange } from '../allocators/index.ts';
import type { Driver, RequestContext, Target, User } from '../driver.ts';
import type { DriverDependencies } from '../generic-driver/index.ts';
import { type StandingObject, standingObjects } from './standing-objects.ts';

const NAMESPACES: ResourceRef = { group: '', version: 'v1', resource: 'namespaces' };
const SERVICES: ResourceRef = { group: '', version: 'v1', resource: 'services' };
const SERVICE_RANGES: ResourceRef = { group: 'networking.k8s.io', version: 'v1', resource: 'servicecidrs' };
const STANDING_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const OPTIONS = { dryRun: false, fieldManager: 'kube-apiserver', fieldValidation: 'Strict' } as const;
const RETRY_MS = 500;

/** The apiserver itself. */
export const SELF: User = {
  name: 'system:apiserver',
  uid: '',
  groups: ['system:masters', 'gantry:apiservers', 'system:authenticated'],
  extra: {},
};

/**
 * Makes what every cluster has and makes the claims of Services agree with the Services. Idempotent; any number of apiservers
 * may do it at once. Goes on trying until it is done or aborted: call it when the watch cache runs.
 */
export async function bootstrap(
  driver: Driver,
  deps: DriverDependencies,
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await deps.cache.whenReady(signal);
      await createAllocators({ ...deps, serviceCidr: deps.settings.serviceCidr }).repair(storedServices(deps), signal);
      for (const name of STANDING_NAMESPACES) await ensure(driver, NAMESPACES, '', namespace(name), signal);
      await ensure(driver, SERVICES, 'default', kubernetesService(deps.settings.serviceCidr), signal);
      await ensureServiceRange(driver, deps, signal);
      await ensureStandingObjects(driver, signal);
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      onError(error);
    }
    await pause(deps.clock, signal);
  }
}

/** Makes what is missing and puts right what differs; those of one resource at the same time. */
async function ensureStandingObjects(driver: Driver, signal: AbortSignal): Promise<void> {
  const byResource = Map.groupBy(standingObjects(), ({ group, resource }) => `${group}/${resource}`);
  for (const objects of byResource.values()) {
    await Promise.all(objects.map((standing) => ensureStanding(driver, standing, signal)));
  }
}

async function ensureStanding(driver: Driver, standing: StandingObject, signal: AbortSignal): Promise<void> {
  const { group, resource, object, corrected } = standing;
  const ref = { group, version: 'v1', resource };
  const namespace = object.metadata.namespace ?? '';
  await ensure(driver, ref, namespace, object, signal);
  if (corrected === undefined) return;
  const definition = must(findResource(ref), resource);
  const context: RequestContext = { user: SELF, signal, fence: undefined, warn: () => undefined };
  const target = { definition, namespace, name: object.metadata.name ?? '', subresource: '' };
  const { object: stored } = await driver.get(context, target, '0');
  const wanted = corrected(stored);
  if (wanted === undefined) return;
  const bytes = new TextEncoder().encode(JSON.stringify(wanted));
  await driver.update(context, target, { bytes, mediaType: 'application/json' }, OPTIONS);
}

/** The range of Services' addresses that every cluster has, and that it is ready. */
async function ensureServiceRange(driver: Driver, deps: DriverDependencies, signal: AbortSignal): Promise<void> {
  const range: ServiceCIDR & KubeObject = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [deps.settings.serviceCidr] },
  };
  await ensure(driver, SERVICE_RANGES, '', range, signal);
  const definition = must(findResource(SERVICE_RANGES), SERVICE_RANGES.resource);
  const context: RequestContext = { user: SELF, signal, fence: undefined, warn: () => undefined };
  const target = { definition, namespace: '', name: 'kubernetes', subresource: 'status' };
  const stored = (await driver.get(context, { ...target, subresource: '' }, '')).object as ServiceCIDR & KubeObject;
  if ((stored.status?.conditions ?? []).some(({ type }) => type === 'Ready')) return;
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: formatTime(deps.clock.now()),
  };
  const bytes = new TextEncoder().encode(JSON.stringify({ ...stored, status: { conditions: [ready] } }));
  try {
    await driver.update(context, target, { bytes, mediaType: 'application/json' }, OPTIONS);
  } catch (error) {
    // Whoever keeps the ranges was faster, and says so as well.
    if (!isReason(error, 'Conflict')) throw error;
  }
}

function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  return sleep(clock, RETRY_MS, signal);
}

function storedServices(deps: DriverDependencies): readonly Service[] {
  const entries = deps.cache.resource({ group: '', resource: 'services' }).snapshot();
  return entries.map((entry) => entry.answer.object as Service);
}

async function ensure(
  driver: Driver,
  resource: ResourceRef,
  ns: string,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const definition = must(findResource(resource), `the definition of ${resource.resource}`);
  const context: RequestContext = { user: SELF, signal, fence: undefined, warn: () => undefined };
  const name = object.metadata.name ?? '';
  const target = { definition, namespace: ns, name, subresource: '' };
  if (await exists(driver, context, target, '0')) return;
  const bytes = new TextEncoder().encode(JSON.stringify(object));
  try {
    await driver.create(context, { ...target, name: '' }, { bytes, mediaType: 'application/json' }, OPTIONS);
  } catch (error) {
    // Another apiserver may be doing the same: what counts is that the object is there.
    if (!(await exists(driver, context, target, ''))) throw error;
  }
}

async function exists(
  driver: Driver,
  context: RequestContext,
  target: Target,
  resourceVersion: string,
): Promise<boolean> {
  try {
    await driver.get(context, target, resourceVersion);
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}

function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function kubernetesService(serviceCidr: string): KubeObject {
  const address = firstAddress(parseAddressRange(serviceCidr));
  const service: Service & KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: address,
      clusterIPs: [address],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
      sessionAffinity: 'None',
    },
  };
  return service;
}

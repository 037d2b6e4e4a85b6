import { findResource } from '@gantry/kinds';
import { type ComponentStatus, type KubeObject, type Lease, LEASES, StatusError } from '@gantry/objects';
import { type Clock, must } from '@gantry/base';
import { objectKey, SharedResponse, type WatchCache } from '../../cache/index.ts';
import type { ComponentHealth, StoreHealth } from '../contract/dependencies.ts';
import type { RegistryReader, Target } from '../contract/registry.ts';
import type { Authorizer } from '../../auth/authz/authorizer.ts';
import { filterOf } from './filter.ts';
import { encodeProtobuf } from '../objects/response-of.ts';

export interface ComponentStatusOptions {
  readonly cache: WatchCache;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly storeHealth: StoreHealth;
}

/** The Lease of the leader of each component. */
const ELECTED = { 'controller-manager': 'kube-controller-manager', scheduler: 'kube-scheduler' } as const;

/** Whether a request is for ComponentStatuses, which are not stored. */
export function isComponentStatus({ group, resource }: Target['definition']): boolean {
  return group === '' && resource === 'componentstatuses';
}

/** Creates ComponentStatuses. An elected service is healthy while a leader renews its Lease. Members of the store are checked. */
export class ComponentStatuses {
  readonly #options: ComponentStatusOptions;

  constructor(options: ComponentStatusOptions) {
    this.#options = options;
  }

  readonly get: RegistryReader['get'] = async (context, target) => {
    const { definition, name } = target;
    this.#options.authorizer.authorize(context, 'get', target, undefined);
    const found = (await this.#all(context.signal)).find((one) => one.name === name);
    if (found === undefined) throw StatusError.notFound({ group: '', resource: definition.singular }, name);
    return statusResponse(found);
  };

  readonly list: RegistryReader['list'] = async (context, definition, request) => {
    const target = { definition, namespace: '', name: '', subresource: '' };
    this.#options.authorizer.authorize(context, 'list', target, undefined, request.fieldSelector);
    const filter = filterOf(definition, request);
    const items = (await this.#all(context.signal)).map(statusResponse).filter(({ object }) => filter.matches(object));
    return { items, resourceVersion: 0, continueToken: '', remainingItemCount: undefined };
  };

  async #all(signal: AbortSignal): Promise<readonly ComponentHealth[]> {
    const elected = Object.entries(ELECTED).map(([name, lease]) => this.#elected(name, lease));
    const members = await this.#options.storeHealth(signal);
    return [...elected, ...members].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #elected(name: string, leaseName: string): ComponentHealth {
    const { cache, clock } = this.#options;
    const definition = must(findResource(LEASES), LEASES.resource);
    const entry = cache.resource(definition).get(objectKey(definition, 'kube-system', leaseName));
    const lease: Partial<Lease> | undefined = entry?.response.object;
    const { renewTime = '', leaseDurationSeconds = 0 } = lease?.spec ?? {};
    const until = Date.parse(renewTime) + leaseDurationSeconds * 1000;
    if (until >= clock.now()) return { name, state: 'healthy', message: 'ok' };
    const reason = renewTime === '' ? 'there is none' : `it was last renewed at ${renewTime}`;
    return { name, state: 'unhealthy', message: `no leader holds the Lease kube-system/${leaseName}: ${reason}` };
  }
}

function statusResponse({ name, state, message }: ComponentHealth): SharedResponse {
  const status: ComponentStatus & KubeObject = {
    apiVersion: 'v1',
    kind: 'ComponentStatus',
    metadata: { name },
    conditions: [{ type: 'Healthy', status: state === 'healthy' ? 'True' : 'False', message }],
  };
  return new SharedResponse(status, encodeProtobuf);
}

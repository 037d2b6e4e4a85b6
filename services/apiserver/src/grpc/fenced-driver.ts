import { StatusError } from '@gantry/api';
import type { Driver, RequestContext, Target, User } from '../driver.ts';

/** Elected services, and the election key that each of them writes under. */
const ELECTION_KEYS: ReadonlyMap<string, string> = new Map([
  ['system:kube-controller-manager', '/gantry/elections/kube-controller-manager'],
  ['system:kube-scheduler', '/gantry/elections/kube-scheduler'],
]);

/**
 * A driver that lets an elected service write only as its leader: with a fence, on its own election key, from a cache that has
 * reached its epoch. Requests to renew a certificate are open to standbys. Nobody else may send a fence.
 */
export function createFencedDriver(driver: Driver): Driver {
  return {
    get: (context, target, resourceVersion) => driver.get(context, target, resourceVersion),
    list: (context, definition, request) => driver.list(context, definition, request),
    watch: (context, definition, request) => driver.watch(context, definition, request),
    create: async (context, target, body, options) => {
      checkFence(context, target);
      return driver.create(context, target, body, options);
    },
    update: async (context, target, body, options) => {
      checkFence(context, target);
      return driver.update(context, target, body, options);
    },
    patch: async (context, target, patch, patchType, options) => {
      checkFence(context, target);
      return driver.patch(context, target, patch, patchType, options);
    },
    delete: async (context, target, options, write) => {
      checkFence(context, target);
      return driver.delete(context, target, options, write);
    },
    deleteCollection: async (context, definition, list, options, write) => {
      checkFence(context, { definition, namespace: list.namespace, name: '', subresource: '' });
      return driver.deleteCollection(context, definition, list, options, write);
    },
  };
}

function checkFence({ user, fence }: RequestContext, target: Target): void {
  const ownKey = ELECTION_KEYS.get(user.name);
  if (ownKey === undefined) {
    if (fence !== undefined) throw refused(user, target, 'only elected services write under a fence');
    return;
  }
  if (fence === undefined) {
    if (needsNoFence(target)) return;
    throw refused(user, target, 'only the leader may write, and the request carries no fence');
  }
  if (fence.electionKey !== ownKey) {
    throw refused(user, target, `the fence is on ${JSON.stringify(fence.electionKey)} and not on ${ownKey}`);
  }
  if (fence.cacheRevision < fence.epoch) {
    throw refused(user, target, `the leader's cache (${fence.cacheRevision}) is older than its epoch (${fence.epoch})`);
  }
}

function needsNoFence({ definition, subresource }: Target): boolean {
  if (!definition.stored) return true;
  return (
    definition.group === 'certificates.k8s.io' &&
    definition.resource === 'certificatesigningrequests' &&
    subresource === ''
  );
}

function refused(user: User, { definition, name }: Target, why: string): StatusError {
  return StatusError.forbidden(definition, name, `User ${JSON.stringify(user.name)}: ${why}`);
}

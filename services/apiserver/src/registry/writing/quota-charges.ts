import { compareAmounts, findResource, totalUsage } from '@gantry/kinds';
import {
  type KubeObject,
  type ObjectMeta,
  RESOURCE_QUOTAS,
  type ResourceQuota,
  type ResourceRef,
  StatusError,
} from '@gantry/objects';
import { must } from '@gantry/base';
import type { QuotaCharges } from '../../admission/index.ts';
import { NOT_AUDITED } from '../../audit/index.ts';
import { APISERVER } from '../../auth/user.ts';
import { revisionOf, STORED_VIEW } from '../../cache/index.ts';
import type { RegistryDependencies } from '../contract/dependencies.ts';
import type { RequestContext } from '../contract/registry.ts';
import { type GuardedWrite, type ObjectStore, StoreError, type Unchanged } from '../../storage/object-store.ts';
import { fromStore } from '../../storage/store-errors.ts';
import { isLeaseFence } from './fences.ts';
import type { Committer } from './committer.ts';
import type { StoredState, Write } from './write.ts';

/** The root of recount marks: one key per quota. A recount that lowers the usage of the quota changes the key. */
const RECOUNTS = '/gantry/recounts/';
const WRITER = { name: APISERVER.name };
const MARK = new TextEncoder().encode('{"metadata":{}}');
/** How long a recount waits until the cache of this apiserver has reached its mark. */
const CATCH_UP_MS = 5000;

/** Stores the charges of admission to quotas. Each write is guarded by the version in which the quota was read. */
export function createQuotaCharges(committer: Committer, store: ObjectStore): QuotaCharges {
  return {
    begin: async ({ metadata }, { signal }) => {
      const key = recountKey(metadata);
      const mark = await fromStore(store.get(key, signal));
      return { key, resourceVersion: mark?.resourceVersion ?? 'absent' };
    },
    updateStatus: async (quota, { signal, warn }) => {
      const definition = must(findResource(RESOURCE_QUOTAS), 'the definition of quotas');
      const { namespace = '', name = '', resourceVersion = '' } = quota.metadata;
      const context: RequestContext = { user: APISERVER, signal, fence: undefined, warn, audit: NOT_AUDITED };
      const object: KubeObject = quota;
      const expected = Number(resourceVersion);
      const write = { context, definition, namespace, name, expected, object, fence: undefined };
      const outcome = await committer.commit(write, object);
      if (outcome.kind === 'committed') return { kind: 'updated' };
      return { kind: 'conflict', quota: outcome.current?.response.object };
    },
  };
}

/**
 * The conditions of a leader's write that lowers the usage of a quota. The problem: the leader does not count an object that is charged
 * but not stored yet. If its charge were given back, one more object could be created, and the quota would be exceeded. The solution:
 * - This function changes the recount mark first. Writes that were charged before compare the old mark, so they are not stored. They are
 *   admitted and charged again.
 * - Objects that were stored before the mark are counted here, when the cache has reached the mark.
 * - A charge after the mark changes the quota, so that the leader's write fails with a conflict.
 */
export function recountConditions(
  dependencies: RegistryDependencies,
  write: Write<unknown>,
  stored: StoredState | undefined,
  object: KubeObject,
): readonly Unchanged[] | Promise<readonly Unchanged[]> {
  const { target, options, fence } = write;
  const { group, resource } = target.definition;
  const isStatus =
    group === RESOURCE_QUOTAS.group && resource === RESOURCE_QUOTAS.resource && target.subresource === 'status';
  if (!isStatus || fence === undefined || isLeaseFence(fence) || options.dryRun || stored === undefined) return [];
  const quota = object as ResourceQuota;
  const [before, used] = [(stored.object as ResourceQuota).status?.used ?? {}, quota.status?.used ?? {}];
  const lowered = Object.keys(used).filter((name) => compareAmounts(used[name] ?? '0', before[name] ?? '0') < 0);
  // Almost all writes: they do not wait.
  return lowered.length === 0 ? [] : recount(dependencies, write, { quota, lowered });
}

async function recount(
  { store, cache, resourceRegistry, clock }: RegistryDependencies,
  { context, target }: Write<unknown>,
  { quota, lowered }: { readonly quota: ResourceQuota; readonly lowered: readonly string[] },
): Promise<readonly Unchanged[]> {
  const used = quota.status?.used ?? {};
  const key = recountKey(quota.metadata);
  const expected = (await fromStore(store.get(key, context.signal)))?.resourceVersion ?? 'absent';
  const mark: GuardedWrite = { key, expected, value: MARK, writer: WRITER };
  const marked = await fromStore(store.write(mark, context.signal));
  if (marked.kind !== 'committed') throw conflict(target.name);
  if (!(await cache.reach(revisionOf(marked.resourceVersion), CATCH_UP_MS, context.signal)))
    throw conflict(target.name);
  const resources = new Map(
    resourceRegistry.definitions
      .filter((one) => one.namespaced && one.stored && one.storage === undefined)
      .map((one) => [`${one.group}/${one.resource}`, one]),
  );
  const filter = { namespace: target.namespace, matches: () => true, selectsAll: true };
  const objects = [...resources.values()].flatMap((of) =>
    cache
      .resource(of)
      .candidates(filter)
      .map((entry) => ({ of, object: STORED_VIEW.entry(entry).response.object })),
  );
  const counted = totalUsage(quota, objects, clock.now());
  for (const name of lowered) {
    const amount = counted[name] ?? '0';
    if (compareAmounts(amount, used[name] ?? '0') > 0) used[name] = amount;
  }
  return [{ key, resourceVersion: marked.resourceVersion }];
}

/**
 * Removes the mark of a deleted quota. If that fails, the mark stays, and a later quota of the same name uses it. This is harmless:
 * writes only compare whether the mark has changed.
 */
export async function forgetRecounts(
  { store }: Pick<RegistryDependencies, 'store'>,
  { group, resource }: ResourceRef,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if (group !== RESOURCE_QUOTAS.group || resource !== RESOURCE_QUOTAS.resource) return;
  const key = recountKey(metadata);
  try {
    const mark = await store.get(key, signal);
    if (mark === null) return;
    await store.write({ key, expected: mark.resourceVersion, value: null, writer: WRITER }, signal);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

function conflict(name: string): StatusError {
  return StatusError.conflict(RESOURCE_QUOTAS, name);
}

function recountKey({ namespace = '', name = '' }: ObjectMeta): string {
  return `${RECOUNTS}${namespace}/${name}`;
}

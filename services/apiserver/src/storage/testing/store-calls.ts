/** Keys, writes and reads for tests of the store. */
import { append } from '@gantry/base';
import type { KeyValueStore } from '@gantry/etcd';
import { patiently } from '@gantry/etcd/testing';
import type { JsonObject } from '@gantry/objects';
import { expect } from 'vitest';
import type { ClosableObjectStore } from '../etcd-object-store.ts';
import type { GuardedWrite, ResourceVersion, StoreEvent, StoreWatchItem, WriteOutcome } from '../object-store.ts';
import { revisionOf } from '../keys.ts';

/** A timeout for one call. */
export const signal = (): AbortSignal => AbortSignal.timeout(60_000);

/** The key of a pod. */
export function pod(name: string): string {
  return `/registry/pods/ns/${name}`;
}

/** The key of a ConfigMap. */
export function map(name: string): string {
  return `/registry/configmaps/ns/${name}`;
}

/** A create by the administrator. */
export function create(key: string, fields: JsonObject = {}): GuardedWrite {
  return { key, expected: 'absent', value: bytes(key, fields), writer: { name: 'admin' } };
}

/** An update of the version `expected`. */
export function update(key: string, expected: ResourceVersion, fields: JsonObject = {}): GuardedWrite {
  return { key, expected, value: bytes(key, fields), writer: { name: 'admin' } };
}

/** A delete of the version `expected`. */
export function remove(key: string, expected: ResourceVersion): GuardedWrite {
  return { key, expected, value: null, writer: { name: 'admin' } };
}

function bytes(key: string, fields: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify({ ...fields, metadata: { name: key.slice(key.lastIndexOf('/') + 1) } }));
}

/** The version of a write. Fails unless the write was committed. */
export async function committed(outcome: Promise<WriteOutcome>): Promise<ResourceVersion> {
  const known = await outcome;
  expect(known).toMatchObject({ kind: 'committed' });
  return known.kind === 'committed' ? known.resourceVersion : 0;
}

/** All items of a watch after `revision`, up to `version`. */
export async function collect(
  store: ClosableObjectStore,
  revision: number,
  version: ResourceVersion,
): Promise<{ readonly events: readonly StoreEvent[]; readonly items: readonly StoreWatchItem[] }> {
  const events: StoreEvent[] = [];
  const items: StoreWatchItem[] = [];
  for await (const item of store.watch(revision, signal())) {
    items.push(item);
    if (item.kind === 'compacted') break;
    if (item.kind === 'events') append(events, item.events);
    if (item.revision >= revisionOf(version)) break;
  }
  return { events, items };
}

/** Expects that the events of each revision are in one item. */
export function expectWholeRevisions(items: readonly StoreWatchItem[]): void {
  let last = 0;
  for (const item of items) {
    if (item.kind !== 'events') continue;
    const revisions = item.events.map((event) => revisionOf(event.resourceVersion));
    expect(Math.min(...revisions)).toBeGreaterThan(last);
    last = Math.max(...revisions);
    expect(item.revision).toBe(last);
  }
}

/** Puts a key that is not an object. Returns the revision. */
export async function putKey(kv: KeyValueStore, key: string, value: string): Promise<number> {
  const put = { kind: 'put', key, value: Buffer.from(value) } as const;
  return (await kv.transact({ compare: [], success: [put], failure: [] }, patiently())).revision;
}

/** Removes a key that is not an object. */
export async function removeKey(kv: KeyValueStore, key: string): Promise<void> {
  await kv.transact({ compare: [], success: [{ kind: 'delete', key }], failure: [] }, patiently());
}

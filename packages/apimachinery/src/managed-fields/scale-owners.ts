import { type ManagedFieldsEntry, apiVersionOf } from '@gantry/objects';
import { FieldSet } from './field-set.ts';
import type { ManagedKind } from './managed-kind.ts';
import { identify, type Manager, readManagers, writeManagers } from './managers.ts';

/** The managed kind of writes through the scale subresource. */
export const SCALE_KIND: ManagedKind = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  schema: 'autoscaling.v1.Scale',
  subresource: 'scale',
  reset: (fields) => fields,
};

const IN_SCALE = ['f:spec', 'f:replicas'];
const SCALED = FieldSet.of(IN_SCALE);
const SCALE_VERSION = apiVersionOf(SCALE_KIND);

/** Returns the path of the replicas in a version of the scaled kind; undefined for an unknown version. */
export type ReplicasPath = (apiVersion: string) => readonly string[] | undefined;

/** The entries of a scaled object as its Scale shows them: the managers that own the replicas. */
export function ownersInScale(entries: readonly ManagedFieldsEntry[], pathIn: ReplicasPath): ManagedFieldsEntry[] {
  const owners: Manager[] = [];
  for (const manager of readManagers(entries).values()) {
    const path = pathIn(manager.apiVersion);
    if (path === undefined || !manager.fields.has(path)) continue;
    owners.push({ ...withoutSource(manager), apiVersion: SCALE_VERSION, fields: SCALED });
  }
  return writeManagers(owners);
}

/**
 * The entries of a scaled object after a write of its Scale. Managers that no longer own the replicas lose them; new owners get them, in
 * `apiVersion`.
 */
export function ownersFromScale(
  entries: readonly ManagedFieldsEntry[],
  inScale: readonly ManagedFieldsEntry[],
  pathIn: ReplicasPath,
  apiVersion: string,
): ManagedFieldsEntry[] {
  const left = new Map<string, Manager>();
  for (const manager of readManagers(inScale).values()) left.set(scaleId(manager), manager);
  const out: Manager[] = [];
  for (const manager of readManagers(entries).values()) {
    const path = pathIn(manager.apiVersion);
    if (path === undefined) continue;
    const id = scaleId({ ...manager, apiVersion: SCALE_VERSION });
    if (!manager.fields.has(path)) out.push(manager);
    else if (left.delete(id)) out.push(manager);
    else out.push({ ...manager, fields: manager.fields.difference(FieldSet.of(path)) });
  }
  const path = pathIn(apiVersion);
  for (const manager of left.values()) {
    if (path === undefined || !manager.fields.has(IN_SCALE)) continue;
    // Kubernetes records no time here.
    out.push({ ...withoutSource(manager), apiVersion, time: undefined, fields: FieldSet.of(path) });
  }
  return writeManagers(out);
}

function withoutSource({ read: _read, ...manager }: Manager): Omit<Manager, 'read'> {
  return manager;
}

function scaleId(manager: Manager): string {
  return identify(manager);
}

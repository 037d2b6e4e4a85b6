import { type ManagedFieldsEntry, apiVersionOf } from '@gantry/objects';
import { FieldSet } from './field-set.ts';
import type { ManagedKind } from './managed-kind.ts';
import { identify, type Manager, readManagers, writeManagers } from './managers.ts';

/** Who writes through the scale subresource, in the terms of what it shows. */
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

/** Where a version of the scaled kind keeps its replicas, as a path of elements; undefined for a version that is not known. */
export type ReplicasPath = (apiVersion: string) => readonly string[] | undefined;

/** The entries of a scaled object as its Scale has them: those that own the replicas. */
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
 * The entries of a scaled object after its Scale was written: who owned the replicas and does no longer loses them, and who owns
 * them now gets them, in `apiVersion`.
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
    // Kubernetes notes no time here.
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

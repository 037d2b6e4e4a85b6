import { cloneJson, type KubeObject } from '@gantry/objects';

/** A new object has no status. */
export function dropStatus(object: KubeObject): void {
  delete (object as { status?: unknown }).status;
}

/** The status stays as it is when the object itself is written. */
export function keepStatus(object: KubeObject, old: KubeObject): void {
  keepField(object, old, 'status');
}

/** Through the status everything else stays as it is, but for who manages it. */
export function keepAllButStatus(object: KubeObject, old: KubeObject): void {
  const { managedFields } = object.metadata;
  for (const name of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (name !== 'status') keepField(object, old, name);
  }
  object.metadata = cloneJson(old.metadata);
  if (managedFields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managedFields;
}

function keepField(object: KubeObject, old: KubeObject, name: string): void {
  const before = (old as Record<string, unknown>)[name];
  const fields = object as Record<string, unknown>;
  if (before === undefined) delete fields[name];
  else fields[name] = before;
}

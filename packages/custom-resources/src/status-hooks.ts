import { cloneJson, type KubeObject } from '@gantry/objects';

/** Removes the status of a new object. */
export function dropStatus(object: KubeObject): void {
  delete (object as { status?: unknown }).status;
}

/** Keeps the stored status when the object itself is updated. */
export function keepStatus(object: KubeObject, old: KubeObject): void {
  keepField(object, old, 'status');
}

/** Keeps everything but the status and managedFields in a status update. */
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

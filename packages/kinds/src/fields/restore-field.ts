/**
 * Puts a part of an object back to what is stored: the status in changes of the object itself, the spec in changes through a
 * subresource.
 */
export function restoreField<T extends object, K extends keyof T>(object: T, old: T, field: K): void {
  if (old[field] === undefined) Reflect.deleteProperty(object, field);
  else object[field] = old[field];
}

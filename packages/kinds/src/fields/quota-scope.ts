const OPERATORS: Readonly<Record<string, (named: readonly string[], values: readonly string[]) => boolean>> = {
  Exists: (named) => named.length > 0,
  DoesNotExist: (named) => named.length === 0,
  In: (named, values) => named.some((name) => values.includes(name)),
  NotIn: (named, values) => named.length === 0 || named.some((name) => !values.includes(name)),
};

/** Whether the classes that an object names satisfy a term of a quota's scope selector. */
export function satisfiesScope(named: readonly string[], operator: string, values: readonly string[]): boolean {
  return OPERATORS[operator]?.(named, values) ?? false;
}

type Labels = Readonly<Record<string, string>> | null | undefined;

/** The keys whose value differs between two sets of labels, in order. */
export function modifiedLabels(labels: Labels, old: Labels): readonly string[] {
  const keys = new Set([...Object.keys(labels ?? {}), ...Object.keys(old ?? {})]);
  return [...keys].filter((key) => labels?.[key] !== old?.[key]).sort();
}

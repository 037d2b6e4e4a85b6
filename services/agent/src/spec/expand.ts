const REFERENCE = /\$(\$|\(([^)]*)\))/g;

/**
 * Replaces `$(NAME)` by the variable's value; `$$` is a literal `$`, and a reference to an unknown variable stays as it is.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(REFERENCE, (whole, escape: string, name: string | undefined) => {
    if (escape === '$') return '$';
    return variables.get(name ?? '') ?? whole;
  });
}

/** Like `expand`, and names the referenced variables that are unknown or empty, sorted. */
export function expandAll(
  text: string,
  variables: ReadonlyMap<string, string>,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  for (const [, escape, name = ''] of text.matchAll(REFERENCE)) {
    if (escape !== '$' && (variables.get(name) ?? '') === '') missing.add(name);
  }
  return { text: expand(text, variables), missing: [...missing].sort() };
}

const REFERENCE = /\$(\$|\(([^)]*)\))/g;

/** Replaces `$(NAME)` by the variable's value. `$$` is a literal `$`; a reference to an unknown variable is kept. */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(REFERENCE, (whole, escape: string, name: string | undefined) => {
    if (escape === '$') return '$';
    return variables.get(name ?? '') ?? whole;
  });
}

/** Like `expand`; also returns the sorted names of referenced variables that are unknown or empty. */
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

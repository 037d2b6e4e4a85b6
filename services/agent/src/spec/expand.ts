/**
 * Replaces `$(NAME)` by the variable's value; `$$` is a literal `$`, and a reference to an unknown variable stays as it is.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\$|\(([^)]*)\))/g, (whole, escape: string, name: string | undefined) => {
    if (escape === '$') return '$';
    return variables.get(name ?? '') ?? whole;
  });
}

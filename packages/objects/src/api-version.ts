/** `v1` or `apps/v1`. */
export function apiVersionOf(of: { readonly group: string; readonly version: string }): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`;
}

/** Inverse of `apiVersionOf`. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** Kubernetes' order of version names: v2 before v1 before v1beta1 before v1alpha1, and others after them by name. */
export function compareVersions(a: string, b: string): number {
  const parse = (version: string): readonly number[] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [-1, 0, 0];
    const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const left = parse(a);
  const right = parse(b);
  for (const [i, value] of left.entries()) if (value !== right[i]) return (right[i] ?? 0) - value;
  return a < b ? -1 : a > b ? 1 : 0;
}

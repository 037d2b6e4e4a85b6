const META = 'io.k8s.apimachinery.pkg';

/** Begins the short name of a custom resource's schema: the rest is the full one. */
const CUSTOM = '~';

/** The short name under which a custom resource's schema goes: its group backwards, then version and kind. */
export function customSchemaName(of: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}): string {
  return `${CUSTOM}${of.group.split('.').reverse().join('.')}.${of.version}.${of.kind}`;
}

/** Where the packages that are not under `io.k8s.api` publish their schemas. */
const PACKAGES: Readonly<Record<string, string>> = {
  meta: `${META}.apis.meta`,
  resource: `${META}.api.resource`,
  intstr: `${META}.util.intstr`,
  runtime: `${META}.runtime`,
  version: `${META}.version`,
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
};

/** The name under which Kubernetes publishes a schema: `io.k8s.api.core.v1.Pod` for `core.v1.Pod`. */
export function fullSchemaName(short: string): string {
  if (short.startsWith(CUSTOM)) return short.slice(CUSTOM.length);
  const dot = short.indexOf('.');
  const first = short.slice(0, dot);
  // `resource.Quantity` is machinery; `resource.v1.ResourceClaim` is an API group of the same name.
  const versioned = /^[^.]+\.v\d/.test(short);
  const known = versioned && first === 'resource' ? undefined : PACKAGES[first];
  return known === undefined ? `io.k8s.api.${short}` : `${known}${short.slice(dot)}`;
}

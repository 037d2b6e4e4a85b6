const META = 'io.k8s.apimachinery.pkg';

/** Prefix of the short name of a custom resource's schema; the full name follows. */
const CUSTOM = '~';

/** The short name of a custom resource's schema: its group reversed, then version and kind. */
export function customSchemaName(of: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}): string {
  return `${CUSTOM}${of.group.split('.').reverse().join('.')}.${of.version}.${of.kind}`;
}

/** Full name prefixes of packages that are not under `io.k8s.api`. */
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
  // `resource.Quantity` is part of apimachinery; `resource.v1.ResourceClaim` belongs to an API group of the same name.
  const versioned = /^[^.]+\.v\d/.test(short);
  const known = versioned && first === 'resource' ? undefined : PACKAGES[first];
  return known === undefined ? `io.k8s.api.${short}` : `${known}${short.slice(dot)}`;
}

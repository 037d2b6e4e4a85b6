/** Where the parts of Kubernetes that serve groups of their own have their schemes, as its errors name them. */
const SCHEMES: Readonly<Record<string, string>> = {
  'apiextensions.k8s.io': 'k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55',
  'apiregistration.k8s.io': 'k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28',
};

const SCHEME = 'pkg/api/legacyscheme/scheme.go:30';

/** That nothing is known under a kind and version, in Kubernetes' words. `served` is the version that would have been right. */
export function notRegistered(kind: string, apiVersion: string, served: string): string {
  const scheme = SCHEMES[served.slice(0, Math.max(0, served.indexOf('/')))] ?? SCHEME;
  return `no kind "${kind}" is registered for version "${apiVersion}" in scheme "${scheme}"`;
}

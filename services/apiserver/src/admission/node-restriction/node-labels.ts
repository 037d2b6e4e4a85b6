/** Labels of Kubernetes' domains that a kubelet may set on its Node (k8s.io/kubelet/pkg/apis, well_known_labels.go). */
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const KUBELET_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];
/** Gantry's own labels. An agent writes the one that names its engine, and no other. */
const OWN_DOMAIN = 'gantry.dev';

type Labels = Readonly<Record<string, string>> | null | undefined;

/** The keys whose value differs between two sets of labels, in order. */
export function modifiedLabels(labels: Labels, old: Labels): readonly string[] {
  const keys = new Set([...Object.keys(labels ?? {}), ...Object.keys(old ?? {})]);
  return [...keys].filter((key) => labels?.[key] !== old?.[key]).sort();
}

/**
 * Whether an agent may write a label of its Node, as NodeRestriction of Kubernetes decides. Not `node-restriction.kubernetes.io/`, by which
 * administrators keep pods on nodes of their choice, nor any other domain of Kubernetes that is not a kubelet's.
 */
export function isAgentsLabel(key: string): boolean {
  const domain = key.includes('/') ? (key.split('/')[0] ?? '') : '';
  if (isWithin(domain, OWN_DOMAIN)) return false;
  if (!KUBERNETES_DOMAINS.some((of) => isWithin(domain, of))) return true;
  return KUBELET_LABELS.has(key) || KUBELET_DOMAINS.some((of) => isWithin(domain, of));
}

function isWithin(domain: string, of: string): boolean {
  return domain === of || domain.endsWith(`.${of}`);
}

import {
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_INSTANCE_TYPE_LABEL,
  BETA_OS_LABEL,
  BETA_REGION_LABEL,
  BETA_ZONE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  OS_LABEL,
  REGION_LABEL,
  ZONE_LABEL,
} from './well-known.ts';

/** Labels of Kubernetes' domains that a kubelet may set on its Node (k8s.io/kubelet/pkg/apis, well_known_labels.go). */
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  BETA_ARCH_LABEL,
  BETA_INSTANCE_TYPE_LABEL,
  BETA_OS_LABEL,
  BETA_REGION_LABEL,
  BETA_ZONE_LABEL,
  ARCH_LABEL,
  HOSTNAME_LABEL,
  OS_LABEL,
  INSTANCE_TYPE_LABEL,
  'node.kubernetes.io/windows-build',
  REGION_LABEL,
  ZONE_LABEL,
]);
const KUBELET_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];
/** Gantry's own labels. An agent only writes the one that names its engine. */
const OWN_DOMAIN = 'gantry.dev';

/**
 * Whether an agent may write a label of its Node, as Kubernetes' NodeRestriction decides. Not allowed: `node-restriction.kubernetes.io/`,
 * which administrators use to keep pods on chosen nodes, and other Kubernetes domains that are not a kubelet's.
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

/**
 * The groups of Kubernetes itself. A group of our own does not belong here: a path that it lacks is answered as in a group of
 * custom resources.
 */
const KUBERNETES_GROUPS: ReadonlySet<string> = new Set([
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
]);

/** Whether Kubernetes 1.36 itself serves this group. */
export function isKubernetesGroup(name: string): boolean {
  return KUBERNETES_GROUPS.has(name);
}

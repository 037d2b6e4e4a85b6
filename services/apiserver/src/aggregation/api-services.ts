import type { APIService, ResourceRef } from '@gantry/objects';

/** The priority of a group, and of a version in it. Clients prefer higher ones. */
export type Priority = readonly [group: number, version: number];

/** The priority of group versions without a priority in Kubernetes: custom resources, extensions and Gantry's own kinds. */
export const DEFAULT_PRIORITY: Priority = [1000, 100];

/** The label of managed APIServices: `onstart` ones are created once at the start, `true` ones are always kept correct. */
export const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged';

/** The group of APIServices, which has no APIService itself. */
const OWN_GROUP = 'apiregistration.k8s.io';

/** Kubernetes' priorities of its group versions, by `group/version`. */
const PRIORITIES: Readonly<Record<string, Priority>> = {
  '/v1': [18000, 1],
  'apps/v1': [17800, 15],
  'events.k8s.io/v1': [17750, 15],
  'authentication.k8s.io/v1': [17700, 15],
  'authorization.k8s.io/v1': [17600, 15],
  'autoscaling/v1': [17500, 15],
  'autoscaling/v2': [17500, 30],
  'batch/v1': [17400, 15],
  'certificates.k8s.io/v1': [17300, 15],
  'certificates.k8s.io/v1beta1': [17300, 9],
  'networking.k8s.io/v1': [17200, 15],
  'policy/v1': [17100, 15],
  'rbac.authorization.k8s.io/v1': [17000, 15],
  'storage.k8s.io/v1': [16800, 15],
  'apiextensions.k8s.io/v1': [16700, 15],
  'admissionregistration.k8s.io/v1': [16700, 15],
  'scheduling.k8s.io/v1': [16600, 15],
  'coordination.k8s.io/v1': [16500, 15],
  'node.k8s.io/v1': [16300, 15],
  'discovery.k8s.io/v1': [16200, 15],
  'resource.k8s.io/v1': [16200, 21],
  'flowcontrol.apiserver.k8s.io/v1': [16100, 21],
  // The priority in metrics-server's manifests.
  'metrics.k8s.io/v1beta1': [100, 100],
};

/** The priority of a group version without an APIService. */
export function priorityOf(group: string, version: string): Priority {
  return PRIORITIES[`${group}/${version}`] ?? DEFAULT_PRIORITY;
}

/** One APIService for each group version of the built-in resources, except the group of APIServices. */
export function localApiServices(resources: readonly ResourceRef[]): readonly APIService[] {
  const served = new Map(resources.map(({ group, version }) => [`${version}.${group}`, { group, version }]));
  return [...served]
    .filter(([, { group }]) => group !== OWN_GROUP)
    .map(([name, { group, version }]) => {
      const [groupPriorityMinimum, versionPriority] = priorityOf(group, version);
      return {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name, labels: { [AUTOMANAGED]: 'onstart' } },
        spec: { group: group || undefined, version, groupPriorityMinimum, versionPriority },
      };
    });
}

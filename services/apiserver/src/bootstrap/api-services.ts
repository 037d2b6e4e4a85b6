import { type APIService, resources } from '@gantry/api';

/** How clients prefer groups, and versions within a group, by `group/version`: higher first. */
const PRIORITIES: Readonly<Record<string, readonly [number, number]>> = {
  '/v1': [18000, 1],
  'apps/v1': [17800, 15],
  'events.k8s.io/v1': [17750, 15],
  'authentication.k8s.io/v1': [17700, 15],
  'authorization.k8s.io/v1': [17600, 15],
  'autoscaling/v1': [17500, 15],
  'autoscaling/v2': [17500, 30],
  'batch/v1': [17400, 15],
  'certificates.k8s.io/v1': [17300, 15],
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
};

/** How a built-in group version is preferred: its group, and its version among the group's. */
export function builtInPriority(group: string, version: string): readonly [number, number] | undefined {
  return PRIORITIES[`${group}/${version}`];
}

/** One APIService for each group version that this server serves itself, but for the group of APIServices. */
export function localApiServices(): readonly APIService[] {
  const served = new Set(resources.map(({ group, version }) => `${group}/${version}`));
  return [...served].flatMap((groupVersion) => {
    const priority = PRIORITIES[groupVersion];
    if (priority === undefined) return [];
    const [group = '', version = ''] = groupVersion.split('/');
    const [groupPriorityMinimum, versionPriority] = priority;
    return [
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: {
          name: `${version}.${group}`,
          labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' },
        },
        spec: { ...(group === '' ? {} : { group }), version, groupPriorityMinimum, versionPriority },
      },
    ];
  });
}

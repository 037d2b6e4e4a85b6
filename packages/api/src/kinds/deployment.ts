import type { Deployment } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { defaultPodTemplate } from './rules/pod-defaults.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';
import { workloadColumns } from './workload-columns.ts';

function applyDefaults(object: Deployment): void {
  const spec = (object.spec ??= { selector: {}, template: {} });
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  const strategy = (spec.strategy ??= {});
  if (strategy.type === undefined || strategy.type === '') strategy.type = 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    const rolling = (strategy.rollingUpdate ??= {});
    rolling.maxUnavailable ??= '25%';
    rolling.maxSurge ??= '25%';
  }
  defaultPodTemplate(spec.template);
}

function keepStatus(object: Deployment, old: Deployment): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

export const deployments: ResourceDefinition<Deployment> = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  resource: 'deployments',
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  namespaced: true,
  schema: 'apps.v1.Deployment',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults,
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: keepStatus,
    hasGeneration: true,
  },
  subresources: [
    {
      name: 'scale',
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: PART_VERBS,
      scale: { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas', selector: '.spec.selector' },
    },
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        if (old.spec !== undefined) object.spec = old.spec;
      },
    },
  ],
  columns: [
    nameColumn,
    column(
      'Ready',
      'Pods that are ready, of those wanted.',
      (object) => `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
    ),
    column('Up-to-date', 'Pods with the present template.', (object) => object.status?.updatedReplicas ?? 0),
    column('Available', 'Pods that have been ready long enough.', (object) => object.status?.availableReplicas ?? 0),
    ageColumn,
    ...workloadColumns,
  ],
  selectableFields: {},
  stored: true,
};

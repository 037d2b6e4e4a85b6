import type { PodTemplate } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { column, nameColumn } from './columns.ts';
import { defaultPodTemplate } from './rules/pod-defaults.ts';
import { validatePodTemplate } from './rules/pod-template.ts';
import { templateWarnings } from './rules/pod-warnings.ts';
import { STORED_VERBS } from './verbs.ts';
import { formatContainers, formatLabels } from './workload-columns.ts';

export const podTemplates: ResourceDefinition<PodTemplate> = {
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  resource: 'podtemplates',
  singular: 'podtemplate',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'core.v1.PodTemplate',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: (object) => {
      const template = (object.template ??= {});
      template.spec ??= { containers: [] };
      defaultPodTemplate(template);
    },
    validate: ({ template }) => validatePodTemplate(template, 'template'),
    metadataOnUpdate: 'change',
    warnings: ({ template }, old) => templateWarnings(template, old?.template, 'template'),
    hasGeneration: true,
  },
  subresources: [],
  columns: [
    nameColumn,
    column('Containers', 'Names of the containers.', ({ template }) => formatContainers(template, 'name')),
    column('Images', 'Images of the containers.', ({ template }) => formatContainers(template, 'image')),
    column('Pod Labels', 'Labels that the pods get.', ({ template }) => formatLabels(template?.metadata?.labels)),
  ],
  selectableFields: {},
  stored: true,
};

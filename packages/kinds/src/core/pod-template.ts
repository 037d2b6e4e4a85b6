import { POD_TEMPLATES } from '@gantry/objects';
import { column, defineResource, nameColumn } from '@gantry/apimachinery';
import { defaultPodTemplate } from '../pod-spec/defaults.ts';
import { validatePodTemplate } from '../pod-spec/template.ts';
import { templateWarnings } from '../pod-spec/warnings.ts';
import { formatContainers, formatLabels } from '../workloads/columns.ts';

export const podTemplates = defineResource(POD_TEMPLATES, {
  schema: 'core.v1.PodTemplate',
  strategy: {
    deletionResponse: 'object',
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
  podTemplate: ({ template }) => template,
  columns: [
    nameColumn,
    column('Containers', 'Names of each container in the template.', ({ template }) =>
      formatContainers(template, 'name'),
    ),
    column('Images', 'Images referenced by each container in the template.', ({ template }) =>
      formatContainers(template, 'image'),
    ),
    column('Pod Labels', 'The labels for the pod template.', ({ template }) =>
      formatLabels(template?.metadata?.labels),
    ),
  ],
});

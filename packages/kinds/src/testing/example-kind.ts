import { ageColumn, column, defineResource, nameColumn, PART_VERBS } from '@gantry/apimachinery';
import { kindSchema } from '@gantry/custom-resources';
import { forbidden, type KubeObject, type Resource } from '@gantry/objects';

export interface Widget extends KubeObject {
  spec: { size: number; color?: string };
  status?: { ready?: boolean };
}

export const WIDGETS: Resource<Widget> = {
  group: 'example.dev',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

const { schema, publishedSchema, ...hooks } = kindSchema(WIDGETS, {
  type: 'object',
  description: 'Widget is a part of a machine.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'spec is the desired state of the widget.',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, description: 'size is the length of the widget in millimetres.' },
        color: { type: 'string', default: 'red', description: 'color of the surface.' },
      },
    },
    status: {
      type: 'object',
      description: 'status is the observed state of the widget.',
      properties: { ready: { type: 'boolean', description: 'ready says whether the widget can be used.' } },
    },
  },
});

export const widgets = defineResource(WIDGETS, {
  shortNames: ['wd'],
  schema,
  publishedSchema,
  strategy: {
    hasGeneration: true,
    prepareForCreate: hooks.dropStatus,
    prepareForUpdate: hooks.keepStatus,
    validateCreate: (widget) => hooks.validateNew(widget),
    validateUpdate: (widget, old) =>
      hooks.validateChange(widget, old, () =>
        widget.spec.size < old.spec.size ? [forbidden('spec.size', 'a widget may not shrink')] : [],
      ),
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: hooks.keepAllButStatus,
      validateUpdate: hooks.validateStatus,
    },
  ],
  columns: [
    nameColumn,
    column('Size', 'Length in millimetres.', ({ spec }) => spec.size, { type: 'integer' }),
    column('Ready', 'Whether the widget can be used.', ({ status }) => status?.ready === true, { type: 'boolean' }),
    ageColumn,
  ],
  selectableFields: { 'spec.color': ({ spec }) => spec.color ?? '' },
});

import { type FieldError, invalid, required } from '../field-error.ts';
import type { ControllerRevision } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import { parseApiVersion, type ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { IMMUTABLE, nonNegative } from './rules/errors.ts';
import { STORED_VERBS } from './verbs.ts';

/** The data of a revision is an object of some kind: what a template was. */
function validateCreate({ data }: ControllerRevision): FieldError[] {
  const given: unknown = data;
  if (given === undefined || given === null) return [required('data', 'data is mandatory')];
  return typeof given === 'object' && !Array.isArray(given)
    ? []
    : [required('data', 'data must be a valid JSON object')];
}

/** `deployment.apps/name` of who made the revision. */
function controllerOf({ metadata }: ControllerRevision): string {
  const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (owner === undefined) return '<none>';
  const { group } = parseApiVersion(owner.apiVersion);
  return `${owner.kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${owner.name}`;
}

export const controllerRevisions: ResourceDefinition<ControllerRevision> = {
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  resource: 'controllerrevisions',
  singular: 'controllerrevision',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'apps.v1.ControllerRevision',
  verbs: STORED_VERBS,
  strategy: {
    validate: ({ revision }) => nonNegative('revision', revision),
    validateCreate,
    validateUpdate: (object, old) =>
      equalJson(object.data, old.data) ? [] : [invalid('data', object.data, IMMUTABLE)],
  },
  subresources: [],
  columns: [
    nameColumn,
    column('Controller', 'Who made the revision.', controllerOf),
    column('Revision', 'Its number.', ({ revision }) => revision ?? 0),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};

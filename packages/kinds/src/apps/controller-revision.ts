import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  type FieldError,
  equalJson,
  invalid,
  parseApiVersion,
  required,
} from '@gantry/objects';
import {
  IMMUTABLE,
  ageColumn,
  column,
  defineResource,
  nameColumn,
  nonNegative,
  fieldColumn,
} from '@gantry/apimachinery';

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

export const controllerRevisions = defineResource(CONTROLLER_REVISIONS, {
  schema: 'apps.v1.ControllerRevision',
  strategy: {
    validate: ({ revision }) => nonNegative('revision', revision),
    validateCreate,
    validateUpdate: (object, old) =>
      equalJson(object.data, old.data) ? [] : [invalid('data', object.data, IMMUTABLE)],
  },
  columns: [
    nameColumn,
    column('Controller', 'Controller of the object', controllerOf),
    fieldColumn('Revision', 'apps.v1.ControllerRevision', 'revision', { none: 0 }),
    ageColumn,
  ],
});

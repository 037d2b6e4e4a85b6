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

/** Checks that the data of a revision is an object. */
function validateCreate({ data }: ControllerRevision): FieldError[] {
  const given: unknown = data;
  if (given === undefined || given === null) return [required('data', 'data is mandatory')];
  return typeof given === 'object' && !Array.isArray(given)
    ? []
    : [required('data', 'data must be a valid JSON object')];
}

/** The controller of the revision, such as `deployment.apps/name`. */
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

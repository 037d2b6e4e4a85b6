import { append } from '@gantry/base';
import { duplicate, type FieldError, invalid, required } from '../field-error.ts';
import type { CSINode, CSINodeDriver } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { immutable, invalidAll, nonNegative } from './rules/errors.ts';
import { qualifiedName } from './rules/names.ts';
import { validateDriverName } from './rules/volume-sources.ts';
import { STORED_VERBS } from './verbs.ts';
import { repeatedAt } from './rules/repeated.ts';

const MAX_NODE_ID = 256;

function validate({ spec }: CSINode): FieldError[] {
  const drivers = spec?.drivers ?? [];
  const isRepeated = repeatedAt(drivers.map(({ name }) => name));
  return drivers.flatMap((driver, i) =>
    validateDriver(driver, `spec.drivers[${i}]`, isRepeated(i) ? 'doubled' : 'first'),
  );
}

function validateDriver(driver: CSINodeDriver, path: string, place: 'first' | 'doubled'): FieldError[] {
  const { name, nodeID = '', allocatable } = driver;
  const topologyKeys = driver.topologyKeys ?? [];
  const errors = validateDriverName(name, `${path}.name`);
  if (nodeID === '') errors.push(required(`${path}.nodeID`));
  if (nodeID.length > MAX_NODE_ID) {
    errors.push(invalid(`${path}.nodeID`, nodeID, `must be ${MAX_NODE_ID} characters or less`));
  }
  append(errors, nonNegative(`${path}.allocatable.count`, allocatable?.count));
  if (place === 'doubled') errors.push(duplicate(`${path}.name`, name));
  const isRepeated = repeatedAt(topologyKeys);
  topologyKeys.forEach((key, i) => {
    if (key === '') errors.push(required(path));
    if (isRepeated(i)) errors.push(duplicate(path, key));
    append(errors, invalidAll(path, key, qualifiedName(key)));
  });
  return errors;
}

/** A driver may only change how many volumes it can take. */
function validateUpdate(object: CSINode, old: CSINode): FieldError[] {
  const named = Map.groupBy(object.spec?.drivers ?? [], ({ name }) => name);
  return (old.spec?.drivers ?? []).flatMap((before) =>
    (named.get(before.name) ?? []).flatMap((driver) =>
      immutable('spec.drivers', { ...driver, allocatable: undefined }, { ...before, allocatable: undefined }),
    ),
  );
}

export const csiNodes: ResourceDefinition<CSINode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'CSINode',
  resource: 'csinodes',
  singular: 'csinode',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'storage.v1.CSINode',
  verbs: STORED_VERBS,
  strategy: { validate, validateUpdate, metadataOnUpdate: 'object', allowUnconditionalUpdate: false },
  subresources: [],
  columns: [
    nameColumn,
    column('Drivers', 'How many drivers the node has.', ({ spec }) => spec?.drivers?.length ?? 0, { type: 'integer' }),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};

import { append } from '@gantry/base';
import {
  CSI_NODES,
  type CSINode,
  type CSINodeDriver,
  duplicate,
  type FieldError,
  invalid,
  qualifiedName,
  repeatedAt,
  required,
} from '@gantry/objects';
import {
  ageColumn,
  column,
  defineResource,
  immutable,
  invalidAll,
  nameColumn,
  nonNegative,
} from '@gantry/apimachinery';
import { validateDriverName } from '../pod-spec/volume-sources.ts';

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

/** A driver may only change its maximum number of volumes. */
function validateUpdate(object: CSINode, old: CSINode): FieldError[] {
  const named = Map.groupBy(object.spec?.drivers ?? [], ({ name }) => name);
  return (old.spec?.drivers ?? []).flatMap((before) =>
    (named.get(before.name) ?? []).flatMap((driver) =>
      immutable('spec.drivers', { ...driver, allocatable: undefined }, { ...before, allocatable: undefined }),
    ),
  );
}

export const csiNodes = defineResource(CSI_NODES, {
  schema: 'storage.v1.CSINode',
  strategy: {
    deletionResponse: 'object',
    validate,
    validateUpdate,
    metadataOnUpdate: 'object',
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    column(
      'Drivers',
      'Drivers indicates the number of CSI drivers registered on the node',
      ({ spec }) => spec?.drivers?.length ?? 0,
      { type: 'integer' },
    ),
    ageColumn,
  ],
});

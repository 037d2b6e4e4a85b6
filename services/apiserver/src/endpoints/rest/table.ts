import type { Clock, Instant } from '@gantry/base';
import { type Column, createdAtColumn, type Describe, nameColumn, type ResourceDefinition } from '@gantry/apimachinery';
import { type Json, type JsonObject, type KubeObject, type ObjectMeta, StatusError } from '@gantry/objects';

/** The part of its object that a row contains: `?includeObject=`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** Parses `?includeObject=`; the default is Metadata. */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === 'None' || value === 'Object') return value;
  if (value === '' || value === 'Metadata') return 'Metadata';
  throw StatusError.badRequest(`unrecognized includeObject value: ${JSON.stringify(value)}`);
}

const PLAIN_COLUMNS: readonly Column[] = [nameColumn, createdAtColumn];

/** Creates the columns and rows of Tables. */
export interface Tables {
  readonly columns: (definition: ResourceDefinition) => Json[];
  readonly row: (
    definition: ResourceDefinition,
    object: KubeObject,
    include: IncludeObject,
    metaVersion: 'v1' | 'v1beta1',
  ) => JsonObject;
}

export function createTables(clock: Clock, describe: Describe): Tables {
  const known = new Map<ResourceDefinition, Json[]>();
  return {
    columns: (definition) => {
      const columns = known.get(definition) ?? columnDefinitions(definition, describe);
      known.set(definition, columns);
      return columns;
    },
    row: (definition, object, include, metaVersion) => ({
      cells: cellsOf(definition, object, clock.now()),
      object: carried(definition, object, include, metaVersion),
    }),
  };
}

/** The column definitions of a Table. */
function columnDefinitions(definition: ResourceDefinition, describe: Describe): Json[] {
  return columnsOf(definition).map((column) => ({
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: describeColumn(column, describe),
    priority: column.priority,
  }));
}

function cellsOf(definition: ResourceDefinition, object: KubeObject, now: Instant): Json[] {
  return columnsOf(definition).map((column) => column.value(object, now));
}

/** The `object` of a row. */
function carried(
  definition: ResourceDefinition,
  object: KubeObject,
  include: IncludeObject,
  metaVersion: 'v1' | 'v1beta1',
): Json {
  if (include === 'None') return null;
  return include === 'Object' ? (object as JsonObject) : partialMetadata(definition, object, metaVersion);
}

/** Builds a Table. `columns` are null in all events of a watch except the first. */
export function table(
  metaVersion: string,
  columns: Json[] | null,
  rows: JsonObject[],
  metadata: JsonObject,
): JsonObject {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${metaVersion}`,
    metadata,
    columnDefinitions: columns,
    rows,
  };
}

/** The PartialObjectMetadata of an object. */
export function partialMetadata(
  { fieldAnnotations }: Pick<ResourceDefinition, 'fieldAnnotations'>,
  { metadata }: KubeObject,
  metaVersion = 'v1',
): JsonObject {
  const bare = fieldAnnotations === undefined ? metadata : withoutAnnotations(metadata, fieldAnnotations);
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${metaVersion}`,
    metadata: bare as JsonObject,
  };
}

function withoutAnnotations({ annotations, ...rest }: ObjectMeta, names: readonly string[]): ObjectMeta {
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !names.includes(name));
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}

function columnsOf(definition: ResourceDefinition): readonly Column[] {
  return definition.columns.length > 0 ? definition.columns : PLAIN_COLUMNS;
}

/** Schemas whose descriptions have paragraphs and indented lines, and no other double spaces. */
const PARAGRAPHED: ReadonlySet<string> = new Set([
  'storage.v1.CSIDriverSpec',
  'resource.v1.ResourceSliceSpec',
  'resource.v1.ResourcePool',
  'certificates.v1.CertificateSigningRequestSpec',
  'flowcontrol.v1.LimitedPriorityLevelConfiguration',
]);

/** The description of a column: its own text, or that of the field that it shows. */
function describeColumn({ description }: Column, describe: Describe): string {
  if (typeof description === 'string') return description;
  const { schema, field } = description;
  return withLines(schema, describe(schema, field)) ?? '';
}

/** Restores line breaks that were flattened to spaces: two spaces were the end of a paragraph, more were before an indented line. */
function withLines(schema: string, sentence: string | undefined): string | undefined {
  if (sentence === undefined || !PARAGRAPHED.has(schema)) return sentence;
  return sentence
    .replace(/ {4}(?=1\. )/, '\n\n  ')
    .replaceAll(/ ( {2,})/g, '\n$1')
    .replaceAll(' }  ', '\n}  ')
    .replaceAll(/(?<![\n )]) {2}(?! )|(?<=[^(]\)) {2}(?=[A-Z])/g, '\n\n');
}

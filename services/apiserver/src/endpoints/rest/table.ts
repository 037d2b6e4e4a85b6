import type { Clock, Instant } from '@gantry/base';
import { type Column, createdAtColumn, type Describe, nameColumn, type ResourceDefinition } from '@gantry/apimachinery';
import { type Json, type JsonObject, type KubeObject, type ObjectMeta, StatusError } from '@gantry/objects';

/** What the rows carry of their objects: `?includeObject=`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** Reads `?includeObject=`; Metadata when absent. */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === 'None' || value === 'Object') return value;
  if (value === '' || value === 'Metadata') return 'Metadata';
  throw StatusError.badRequest(`unrecognized includeObject value: ${JSON.stringify(value)}`);
}

const PLAIN_COLUMNS: readonly Column[] = [nameColumn, createdAtColumn];

/** Makes the columns and rows of Tables. */
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

/** The columns as a Table names them. */
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

/** What a row carries of its object. */
function carried(
  definition: ResourceDefinition,
  object: KubeObject,
  include: IncludeObject,
  metaVersion: 'v1' | 'v1beta1',
): Json {
  if (include === 'None') return null;
  return include === 'Object' ? (object as JsonObject) : partialMetadata(definition, object, metaVersion);
}

/** A Table of rows; `columns` are null in the events of a watch after its first. */
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

/** An object's metadata alone. */
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

/** Fields whose sentences have paragraphs and indented lines, and no double space of the author's. */
const PARAGRAPHED: ReadonlySet<string> = new Set([
  'storage.v1.CSIDriverSpec',
  'resource.v1.ResourceSliceSpec',
  'resource.v1.ResourcePool',
  'certificates.v1.CertificateSigningRequestSpec',
  'flowcontrol.v1.LimitedPriorityLevelConfiguration',
]);

/** What a Table says of a column: its own words, or those of the field that it shows. */
function describeColumn({ description }: Column, describe: Describe): string {
  if (typeof description === 'string') return description;
  const { schema, field } = description;
  return withLines(schema, describe(schema, field)) ?? '';
}

/** Puts line ends back where they became spaces: two for a paragraph's end, more before a line that is indented. */
function withLines(schema: string, sentence: string | undefined): string | undefined {
  if (sentence === undefined || !PARAGRAPHED.has(schema)) return sentence;
  return sentence
    .replace(/ {4}(?=1\. )/, '\n\n  ')
    .replaceAll(/ ( {2,})/g, '\n$1')
    .replaceAll(' }  ', '\n}  ')
    .replaceAll(/(?<![\n )]) {2}(?! )|(?<=[^(]\)) {2}(?=[A-Z])/g, '\n\n');
}

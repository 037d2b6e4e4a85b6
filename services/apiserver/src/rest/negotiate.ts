import { type ResourceDefinition, StatusError } from '@gantry/api';

export type MediaType = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf';

/** In what form an answer goes out. */
export interface OutputForm {
  readonly mediaType: MediaType;
  readonly shape: 'object' | 'table' | 'partial' | 'partial-list';
  /** Version of meta.k8s.io that was asked for: of Table and PartialObjectMetadata. */
  readonly metaVersion: 'v1' | 'v1beta1';
}

interface AcceptClause {
  readonly type: string;
  readonly params: ReadonlyMap<string, string>;
  readonly q: number;
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SERVED: readonly MediaType[] = ['application/json', 'application/yaml', PROTOBUF];
const SHAPES: ReadonlyMap<string, OutputForm['shape']> = new Map([
  ['Table', 'table'],
  ['PartialObjectMetadata', 'partial'],
  ['PartialObjectMetadataList', 'partial-list'],
]);
const JSON_OBJECT: OutputForm = { mediaType: 'application/json', shape: 'object', metaVersion: 'v1' };

/**
 * The form that the Accept header asks for; 406 when nothing of it is served. What is not stored is no table's row, and custom
 * resources have no protobuf form but for their metadata.
 */
export function negotiateOutput(
  accept: string | undefined,
  streams: 'streams' | 'single',
  tables: 'tables' | 'no-tables' = 'tables',
  objects: 'any-form' | 'no-protobuf' = 'any-form',
): OutputForm {
  if (accept === undefined || accept.trim() === '') return JSON_OBJECT;
  const clauses = parseAccept(accept);
  // Custom resources have no router that looks at the types first.
  if (objects === 'any-form' && !clauses.some((clause) => matchType(clause.type) !== undefined)) {
    const also =
      streams === 'streams' ? SERVED.filter((m) => m !== 'application/yaml').map((m) => `${m};stream=watch`) : [];
    throw new StatusError(
      'NotAcceptable',
      `406: Not Acceptable\n\nAvailable representations: ${[...SERVED, ...also].join(', ')}`,
      { details: {} },
    );
  }
  for (const clause of clauses) {
    const form = formOf(clause);
    if (form === undefined || (form.shape === 'table' && tables === 'no-tables')) continue;
    const isUnserved = form.shape === 'object' && form.mediaType === 'application/vnd.kubernetes.protobuf';
    if (!isUnserved || objects === 'any-form') return form;
  }
  throw new StatusError('NotAcceptable', `only the following media types are accepted: ${SERVED.join(', ')}`);
}

export interface DiscoveryForm {
  readonly mediaType: MediaType;
  /** Of apidiscovery.k8s.io. */
  readonly version: 'v2' | 'v2beta1';
}

/** The aggregated form that a header names first, as in `application/json;g=…;v=…;as=…`, unless a plain one comes before it. */
export function acceptedDiscovery(accept: string | undefined): DiscoveryForm | undefined {
  for (const { type, params } of parseAccept(accept ?? '')) {
    const mediaType = matchType(type);
    if (mediaType === undefined) continue;
    if (params.get('g') === 'apidiscovery.k8s.io' && params.get('as') === 'APIGroupDiscoveryList') {
      const version = params.get('v');
      // The beta version has no protobuf form here: whoever names it names JSON too.
      if (version === 'v2' || (version === 'v2beta1' && mediaType !== PROTOBUF)) return { mediaType, version };
    } else if (!params.has('as')) return undefined;
  }
  return undefined;
}

function formOf(clause: AcceptClause): OutputForm | undefined {
  const mediaType = matchType(clause.type);
  if (mediaType === undefined) return undefined;
  const as = clause.params.get('as');
  if (as === undefined) return { ...JSON_OBJECT, mediaType };
  const shape = SHAPES.get(as);
  const version = clause.params.get('v');
  if (shape === undefined || clause.params.get('g') !== 'meta.k8s.io') return undefined;
  if (version !== 'v1' && version !== 'v1beta1') return undefined;
  if (shape === 'table' && mediaType === PROTOBUF) return undefined;
  return { mediaType, shape, metaVersion: version };
}

function matchType(type: string): MediaType | undefined {
  if (type === '*/*' || type === 'application/*') return 'application/json';
  return SERVED.find((served) => served === type);
}

function parseAccept(header: string): readonly AcceptClause[] {
  const clauses = header.split(',').map((text): AcceptClause => {
    const [type = '', ...rest] = text.split(';').map((part) => part.trim());
    const params = new Map<string, string>();
    for (const param of rest) {
      const equals = param.indexOf('=');
      if (equals > 0) params.set(param.slice(0, equals).trim(), param.slice(equals + 1).trim());
    }
    const q = Number(params.get('q') ?? '1');
    return { type: type.toLowerCase(), params, q: Number.isFinite(q) ? q : 1 };
  });
  return clauses.filter((c) => c.type !== '').sort((a, b) => b.q - a.q);
}

/** The media type of a request body; 415 when it is none that is read. */
export function negotiateInput(contentType: string | undefined): MediaType {
  if (contentType === undefined || contentType === '') return 'application/json';
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const served = SERVED.find((mediaType) => mediaType === type);
  if (served === undefined) {
    throw new StatusError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${SERVED.join(', ')}`,
    );
  }
  return served;
}

const PATCH_TYPES: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

/** Custom resources have no Go types to merge strategically by. */
const CUSTOM_PATCH_TYPES: readonly string[] = PATCH_TYPES.filter((type) => !type.includes('strategic'));

/**
 * The type of a patch; 415 when it is none that is read: in the words of the router for built-in kinds, of the decoder for
 * custom resources.
 */
export function negotiatePatch(
  contentType: string | undefined,
  definition: Pick<ResourceDefinition, 'schema'>,
): string {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (typeof definition.schema !== 'string' && !CUSTOM_PATCH_TYPES.includes(type)) {
    throw new StatusError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${CUSTOM_PATCH_TYPES.join(', ')}`,
    );
  }
  if (!PATCH_TYPES.includes(type)) {
    throw new StatusError('UnsupportedMediaType', '415: Unsupported Media Type', { details: {} });
  }
  return type;
}

import type { ResourceDefinition } from '@gantry/apimachinery';
import { StatusError } from '@gantry/objects';

export type MediaType = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf';

/** The form of a response. */
export interface OutputForm {
  readonly mediaType: MediaType;
  readonly shape: 'object' | 'table' | 'partial' | 'partial-list';
  /** The requested version of meta.k8s.io, for Table and PartialObjectMetadata. */
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
 * The form of the response, by the Accept header. Throws 406 when no accepted form is served. `no-tables` is for objects that are not
 * stored. `no-protobuf` is for custom resources, which have a protobuf form only as PartialObjectMetadata.
 */
export function negotiateOutput(
  accept: string | undefined,
  streams: 'streams' | 'single',
  tables: 'tables' | 'no-tables' = 'tables',
  objects: 'any-form' | 'no-protobuf' = 'any-form',
): OutputForm {
  if (accept === undefined || accept.trim() === '') return JSON_OBJECT;
  // Kubernetes' router checks the types of built-in kinds only, before the negotiation.
  if (objects === 'any-form') {
    const also =
      streams === 'streams' ? SERVED.filter((m) => m !== 'application/yaml').map((m) => `${m};stream=watch`) : [];
    requireRouted(accept, [...SERVED, ...also]);
  }
  for (const clause of parseAccept(accept)) {
    const form = formOf(clause);
    if (form === undefined || (form.shape === 'table' && tables === 'no-tables')) continue;
    const isUnserved = form.shape === 'object' && form.mediaType === 'application/vnd.kubernetes.protobuf';
    if (!isUnserved || objects === 'any-form') return form;
  }
  throw new StatusError('NotAcceptable', `only the following media types are accepted: ${SERVED.join(', ')}`);
}

/** The check of Kubernetes' router, which precedes most handlers: the header must name a served type or accept any. Throws 406. */
export function requireRouted(accept: string | undefined, served: readonly string[]): void {
  if (accept === undefined || accept.trim() === '') return;
  const types = accept.split(',').map((clause) => clause.split(';')[0]?.trim() ?? '');
  if (types.some((type) => type === '' || type === '*/*' || served.includes(type))) return;
  throw new StatusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${served.join(', ')}`, {
    details: {},
  });
}

/** The media type of a document that is not an object. Throws 406 when none is accepted. `routed`: Kubernetes' router checks it first. */
export function negotiateDocument(accept: string | undefined, router: 'routed' | 'direct'): MediaType {
  if (router === 'routed') requireRouted(accept, SERVED);
  const mediaType = plainType(accept);
  if (mediaType !== undefined) return mediaType;
  throw new StatusError('NotAcceptable', `only the following media types are accepted: ${SERVED.join(', ')}`);
}

/** The media type of an error; JSON if the client accepts no served type. */
export function acceptedForStatus(accept: string | undefined): MediaType {
  return plainType(accept) ?? 'application/json';
}

function plainType(accept: string | undefined): MediaType | undefined {
  if (accept === undefined || accept.trim() === '') return 'application/json';
  return parseAccept(accept)
    .filter(({ params }) => !params.has('as'))
    .map(({ type }) => matchType(type))
    .find((type) => type !== undefined);
}

/**
 * The media type of aggregated discovery, if the header prefers it (`application/json;g=…;v=…;as=…`). Undefined if a plain type comes
 * first. Only version v2 is served, not its beta versions.
 */
export function acceptedDiscovery(accept: string | undefined): MediaType | undefined {
  for (const { type, params } of parseAccept(accept ?? '')) {
    const mediaType = matchType(type);
    if (mediaType === undefined) continue;
    if (!params.has('as')) return undefined;
    const isV2 = params.get('g') === 'apidiscovery.k8s.io' && params.get('v') === 'v2';
    if (isV2 && params.get('as') === 'APIGroupDiscoveryList') return mediaType;
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

/** The media type of a request body. Throws 415 when it is not supported. */
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

/** Custom resources have no Go types, which a strategic merge needs. */
const CUSTOM_PATCH_TYPES: readonly string[] = PATCH_TYPES.filter((type) => !type.includes('strategic'));

/**
 * The media type of a patch. Throws 415 when it is not supported. For built-in kinds the message is that of Kubernetes' router; for
 * custom resources it is that of the decoder.
 */
export function negotiatePatch(
  contentType: string | undefined,
  definition: Pick<ResourceDefinition, 'schema'>,
): string {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const { schema } = definition;
  const isCustom = typeof schema !== 'string' && schema.patches === undefined;
  if (isCustom && !CUSTOM_PATCH_TYPES.includes(type)) {
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

/** The name of the internal Go type of an object or a list in Kubernetes. Internal types have no version. */
export function goType({ group, kind, publishedSchema }: ResourceDefinition, suffix: '' | 'List'): string {
  if (publishedSchema !== undefined) return `unstructured.Unstructured${suffix}`;
  const inner = group === '' || group === 'events.k8s.io' ? 'core' : (group.split('.')[0] ?? '');
  return `${inner}.${kind}${suffix}`;
}

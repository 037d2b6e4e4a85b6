import type { Json, JsonObject } from '@gantry/objects';
import { hasProtobuf, type ResourceDefinition, type SubresourceDefinition, type Verb } from '../resource-definition.ts';
import { schemaOf } from '../schema/type-schema.ts';
import { pathParameters, queryParameters } from './parameters.ts';
import { schemaReference } from './schema-objects.ts';

const ANSWERS = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const STREAMS = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
const PATCHES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
/** Custom resources have neither protobuf nor merge strategies. Clients read here which patch types they may send. */
const CUSTOM_TYPES = ['application/json', 'application/yaml'];
const CUSTOM_PATCHES = PATCHES.filter((type) => !type.includes('strategic'));

const METHODS: Readonly<Partial<Record<Verb, string>>> = {
  get: 'get',
  list: 'get',
  create: 'post',
  update: 'put',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'delete',
};
const ACTIONS: Readonly<Record<Verb, string>> = {
  get: 'get',
  list: 'list',
  watch: 'watchlist',
  create: 'post',
  update: 'put',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'deletecollection',
};

/** One path of a resource. */
export interface Endpoint {
  readonly definition: ResourceDefinition;
  readonly subresource: SubresourceDefinition | undefined;
  /** Short names of the schemas of one object and of a list. */
  readonly schema: string;
  readonly verbs: readonly Verb[];
  readonly path: string;
}

/** The path item of an endpoint: its operations and the parameters in its path. */
export function pathItem(endpoint: Endpoint): JsonObject {
  const item: JsonObject = {};
  for (const verb of endpoint.verbs) {
    const method = METHODS[verb];
    if (method !== undefined) item[method] = operation(endpoint, verb);
  }
  item.parameters = pathParameters(endpoint.path, endpoint.definition.kind);
  return item;
}

function operation(endpoint: Endpoint, verb: Verb): JsonObject {
  const { definition, subresource, schema } = endpoint;
  const collection = verb === 'list' || verb === 'deletecollection';
  const answer =
    verb === 'delete' || verb === 'deletecollection' ? 'meta.v1.Status' : collection ? `${schema}List` : schema;
  const custom = schemaOf(definition.schema).custom !== undefined;
  const types = !hasProtobuf(definition) ? CUSTOM_TYPES : verb === 'list' ? [...ANSWERS, ...STREAMS] : ANSWERS;
  const ok = { description: 'OK', content: content(types, schemaReference(answer)) };
  const responses: JsonObject = { '200': ok, '401': { description: 'Unauthorized' } };
  if (verb === 'create' || verb === 'update' || verb === 'patch') responses['201'] = { ...ok, description: 'Created' };
  if (verb === 'create' || verb === 'delete') responses['202'] = { ...ok, description: 'Accepted' };
  const body = bodyOf(verb, schema, custom);
  const parameters = queryParameters(verb);
  return {
    tags: [tagOf(definition)],
    operationId: operationId(endpoint, verb),
    description: descriptionOf(endpoint, verb),
    // Clients would not send an empty list back unchanged.
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses,
    'x-kubernetes-action': ACTIONS[verb],
    'x-kubernetes-group-version-kind': {
      group: subresource?.group ?? definition.group,
      version: subresource?.version ?? definition.version,
      kind: subresource?.kind ?? definition.kind,
    },
  };
}

function bodyOf(verb: Verb, schema: string, custom: boolean): JsonObject | undefined {
  const types = custom ? CUSTOM_TYPES : ['*/*'];
  switch (verb) {
    case 'create':
    case 'update':
      return { content: content(types, schemaReference(schema)), required: true };
    case 'patch':
      return { content: content(custom ? CUSTOM_PATCHES : PATCHES, schemaReference('meta.v1.Patch')), required: true };
    case 'delete':
    case 'deletecollection':
      return { content: content(types, schemaReference('meta.v1.DeleteOptions')) };
    default:
      return undefined;
  }
}

function content(types: readonly string[], schema: Json): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

/** The description of an operation, in our own words. */
function descriptionOf({ definition, subresource }: Endpoint, verb: Verb): string {
  const { kind } = definition;
  const one = subresource === undefined ? `one ${kind}` : `the ${subresource.name} of one ${kind}`;
  switch (verb) {
    case 'get':
      return `Returns ${one}.`;
    case 'list':
      return `Lists objects of kind ${kind}; with watch, reports their changes instead.`;
    case 'watch':
      return `Reports changes of objects of kind ${kind}.`;
    case 'create':
      return subresource === undefined ? `Creates one ${kind}.` : `Creates a ${subresource.kind ?? kind} as ${one}.`;
    case 'update':
      return `Replaces ${one}.`;
    case 'patch':
      return `Changes parts of ${one}.`;
    case 'delete':
      return `Deletes ${one}.`;
    case 'deletecollection':
      return `Deletes the objects of kind ${kind} that are selected.`;
  }
}

/** The path item of a deprecated watch path (`/api/v1/watch/pods`) of a collection or of one object. Kubernetes lists these paths too. */
export function watchPathItem(endpoint: Endpoint, of: 'collection' | 'object'): JsonObject {
  const { definition, path } = endpoint;
  const { group, version, kind } = definition;
  const what = of === 'object' ? `one ${kind}` : `objects of kind ${kind}`;
  const events = content([...ANSWERS, ...STREAMS], schemaReference('meta.v1.WatchEvent'));
  return {
    get: {
      tags: [tagOf(definition)],
      description: `Reports changes of ${what}. Outdated: list with watch instead${of === 'object' ? ', and select the name' : ''}.`,
      operationId: operationId(endpoint, 'watch', of === 'collection' ? 'List' : ''),
      responses: { '200': { description: 'OK', content: events }, '401': { description: 'Unauthorized' } },
      'x-kubernetes-action': of === 'collection' ? 'watchlist' : 'watch',
      'x-kubernetes-group-version-kind': { group, version, kind },
    },
    parameters: [...pathParameters(path, kind), ...queryParameters('watch')],
  };
}

function tagOf({ group, version }: ResourceDefinition): string {
  return `${group === '' ? 'core' : (group.split('.')[0] ?? group)}_${version}`;
}

const OPERATIONS: Readonly<Record<Verb, string>> = {
  get: 'read',
  list: 'list',
  watch: 'watch',
  create: 'create',
  update: 'replace',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'deleteCollection',
};

function operationId({ definition, subresource, path }: Endpoint, verb: Verb, suffix = ''): string {
  const pascal = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
  const group = definition.group === '' ? 'core' : (definition.group.split('.')[0] ?? definition.group);
  const scope = path.includes('{namespace}') ? 'Namespaced' : '';
  const every = definition.namespaced && scope === '' ? 'ForAllNamespaces' : '';
  const part = subresource === undefined ? '' : pascal(subresource.name);
  return `${OPERATIONS[verb]}${pascal(group)}${pascal(definition.version)}${scope}${definition.kind}${suffix}${part}${every}`;
}

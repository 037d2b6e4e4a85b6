import type { Json, JsonObject } from '@gantry/objects';
import type { ResourceDefinition, SubresourceDefinition, Verb } from '../resource-definition.ts';
import { schemaOf } from '../schema/type-schema.ts';
import { schemaReference } from './schema-objects.ts';

const ANSWERS = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const STREAMS = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
const PATCHES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
/** Custom resources have no protobuf and no strategies of merging: clients read here which patch they may send. */
const CUSTOM_TYPES = ['application/json', 'application/yaml'];
const CUSTOM_PATCHES = PATCHES.filter((type) => !type.includes('strategic'));

interface Parameter {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'integer';
}

const text = (name: string): Parameter => ({ name, type: 'string' });
const flag = (name: string): Parameter => ({ name, type: 'boolean' });
const number = (name: string): Parameter => ({ name, type: 'integer' });

const PRETTY = text('pretty');
const WRITE = [text('dryRun'), text('fieldManager'), text('fieldValidation')];
const LIST = [
  flag('allowWatchBookmarks'),
  text('continue'),
  text('fieldSelector'),
  text('labelSelector'),
  number('limit'),
  text('resourceVersion'),
  text('resourceVersionMatch'),
  flag('sendInitialEvents'),
  number('timeoutSeconds'),
  flag('watch'),
];
const DELETE = [text('dryRun'), number('gracePeriodSeconds'), flag('orphanDependents'), text('propagationPolicy')];

const QUERY: Readonly<Record<Verb, readonly Parameter[]>> = {
  get: [],
  list: LIST,
  watch: LIST,
  create: WRITE,
  update: WRITE,
  patch: [...WRITE, flag('force')],
  delete: DELETE,
  deletecollection: [...LIST.filter(({ name }) => name !== 'watch' && name !== 'allowWatchBookmarks'), ...DELETE],
};

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

/** What one path of a resource is about. */
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
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1] ?? '',
    in: 'path',
    required: true,
    schema: { type: 'string', uniqueItems: true },
  }));
  item.parameters = [...inPath, query(PRETTY)];
  return item;
}

function operation(endpoint: Endpoint, verb: Verb): JsonObject {
  const { definition, subresource, schema } = endpoint;
  const collection = verb === 'list' || verb === 'deletecollection';
  const answer =
    verb === 'delete' || verb === 'deletecollection' ? 'meta.v1.Status' : collection ? `${schema}List` : schema;
  const custom = schemaOf(definition.schema).custom !== undefined;
  const types = custom ? CUSTOM_TYPES : verb === 'list' ? [...ANSWERS, ...STREAMS] : ANSWERS;
  const ok = { description: 'OK', content: content(types, schemaReference(answer)) };
  const responses: JsonObject = { '200': ok, '401': { description: 'Unauthorized' } };
  if (verb === 'create' || verb === 'update' || verb === 'patch') responses['201'] = { ...ok, description: 'Created' };
  if (verb === 'create' || verb === 'delete') responses['202'] = { ...ok, description: 'Accepted' };
  const body = bodyOf(verb, schema, custom);
  return {
    tags: [tagOf(definition)],
    operationId: operationId(endpoint, verb),
    // An empty list would not come back from clients as it was.
    ...(QUERY[verb].length === 0 ? {} : { parameters: QUERY[verb].map(query) }),
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

function query({ name, type }: Parameter): JsonObject {
  return { name, in: 'query', schema: { type, uniqueItems: true } };
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

function operationId({ definition, subresource, path }: Endpoint, verb: Verb): string {
  const pascal = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
  const group = definition.group === '' ? 'core' : (definition.group.split('.')[0] ?? definition.group);
  const scope = path.includes('{namespace}') ? 'Namespaced' : '';
  const every = definition.namespaced && scope === '' ? 'ForAllNamespaces' : '';
  const part = subresource === undefined ? '' : pascal(subresource.name);
  return `${OPERATIONS[verb]}${pascal(group)}${pascal(definition.version)}${scope}${definition.kind}${part}${every}`;
}

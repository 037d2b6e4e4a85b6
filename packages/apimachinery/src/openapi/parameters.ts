import type { JsonObject } from '@gantry/objects';
import type { Verb } from '../resource-definition.ts';

interface Parameter {
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

/** Descriptions of query parameters, in our own words. */
const PARAMETERS = {
  allowWatchBookmarks: {
    type: 'boolean',
    description:
      'Whether a watch may contain events of type BOOKMARK, which tell the version that the watch has reached. Ignored by other requests.',
  },
  continue: {
    type: 'string',
    description:
      'Where the next page of a list begins: the value of metadata.continue in the page before. It expires after some minutes with 410; the list must then be begun anew.',
  },
  dryRun: {
    type: 'string',
    description: 'With the value All, the request is processed and answered as usual, but nothing is stored.',
  },
  fieldManager: {
    type: 'string',
    description:
      'The name of the client that makes the change, for metadata.managedFields: at most 128 printable characters. Required by an apply patch.',
  },
  fieldSelector: {
    type: 'string',
    description:
      'Selects objects by their fields: conditions of the form name=value or name!=value, with commas between them.',
  },
  fieldValidation: {
    type: 'string',
    description:
      'What happens when the body has unknown or repeated fields: Ignore drops them, Warn (the default) drops them and answers with a warning, Strict rejects the request.',
  },
  force: {
    type: 'boolean',
    description: 'Lets an apply patch take over fields that other managers own. Not allowed with other patches.',
  },
  gracePeriodSeconds: {
    type: 'integer',
    description:
      'How many seconds the object has to end by itself before it is removed. 0 removes it at once; without a value the default of its kind holds.',
  },
  labelSelector: {
    type: 'string',
    description:
      'Selects objects by their labels: conditions such as name=value, name!=value, name in (a,b) and !name, with commas between them.',
  },
  limit: {
    type: 'integer',
    description:
      'How many objects one page of a list has at most. metadata.continue of the answer leads to the next page.',
  },
  orphanDependents: {
    type: 'boolean',
    description: 'Outdated, use propagationPolicy. Whether the objects that this one owns stay.',
  },
  pretty: { type: 'string', description: 'Whether JSON is indented. Browsers and curl get it so without asking.' },
  propagationPolicy: {
    type: 'string',
    description:
      'What becomes of the objects that this one owns: Orphan keeps them, Background deletes them afterwards, Foreground deletes them first.',
  },
  resourceVersion: {
    type: 'string',
    description:
      'How new the answer must be. Without a value it is the newest state; 0 allows any; with another value it is at least that version. A watch begins after it.',
  },
  resourceVersionMatch: {
    type: 'string',
    description: 'How resourceVersion is meant in a list: NotOlderThan or Exact.',
  },
  sendInitialEvents: {
    type: 'boolean',
    description:
      'Begins a watch with an event for each object that exists, and a bookmark after the last of them. Needs resourceVersionMatch=NotOlderThan.',
  },
  timeoutSeconds: { type: 'integer', description: 'After how many seconds the server ends a list or a watch.' },
  watch: {
    type: 'boolean',
    description: 'Answers with a stream of changes instead of a list.',
  },
} as const satisfies Readonly<Record<string, Parameter>>;

type Name = keyof typeof PARAMETERS;

const WRITE: readonly Name[] = ['dryRun', 'fieldManager', 'fieldValidation'];
const LIST: readonly Name[] = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];
const DELETE: readonly Name[] = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy'];

const QUERY: Readonly<Record<Verb, readonly Name[]>> = {
  get: [],
  list: LIST,
  watch: LIST,
  create: WRITE,
  update: WRITE,
  patch: [...WRITE, 'force'],
  delete: DELETE,
  deletecollection: [...LIST.filter((name) => name !== 'watch' && name !== 'allowWatchBookmarks'), ...DELETE],
};

/** The parameters of a request's query. */
export function queryParameters(verb: Verb): JsonObject[] {
  return QUERY[verb].map(query);
}

/** The parameters of a path: the names in it, and the parameters that all requests have. */
export function pathParameters(path: string, kind: string): JsonObject[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    description: describeInPath(name, kind),
    required: true,
    schema: { type: 'string', uniqueItems: true },
  }));
  return [...inPath, query('pretty')];
}

function describeInPath(name: string, kind: string): string {
  switch (name) {
    case 'name':
      return `The name of the ${kind}.`;
    case 'namespace':
      return 'The namespace of the objects that the request is about.';
    default:
      return `The ${name} below the ${kind} that the request is about.`;
  }
}

function query(name: Name): JsonObject {
  const { type, description } = PARAMETERS[name];
  return { name, in: 'query', description, schema: { type, uniqueItems: true } };
}

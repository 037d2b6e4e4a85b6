import { type KubeObject, parseLabelSelector, StatusError } from '@gantry/objects';
import type { Api, Session } from '../api/http.ts';
import type { Kind } from '../api/kinds.ts';
import { collectionPath } from '../api/kinds.ts';
import type { Recording } from './recording.ts';

/** The kinds of a recording, which can be read. */
export function recordedKinds({ kinds }: Recording): readonly Kind[] {
  return kinds
    .map((kind) => ({
      ...kind,
      singular: kind.kind.toLowerCase(),
      shortNames: [],
      categories: [],
      verbs: ['get', 'list'],
      subresources: [],
    }))
    .sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

/** Answers reads from a recording as the API server would: lists at a version, as objects or Tables. All else is 404 or 405. */
export function createRecordedApi(recording: Recording, session: Session): Api {
  const answer = (path: string, method: string, accept: string): unknown => {
    const { pathname, searchParams } = new URL(path, 'http://recording');
    if (pathname === '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews') return RULES;
    if (pathname === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews') return { status: { allowed: false } };
    if (method !== 'GET') throw new StatusError('MethodNotAllowed', 'a recorded run cannot be changed');
    if (pathname === '/gantry/v1/history') return historyOf(recording);
    return listOf(recording, pathname, searchParams, accept);
  };
  const fetch: Api['fetch'] = async (path, { method = 'GET', accept = 'application/json' } = {}) =>
    Promise.resolve(Response.json(answer(path, method, accept)));
  return {
    session,
    fetch,
    json: async <T>(path: string, options?: Parameters<Api['fetch']>[1]) =>
      (await (await fetch(path, options)).json()) as T,
    socketUrl: () => {
      throw new StatusError('MethodNotAllowed', 'a recorded run has no streams');
    },
  };
}

const RULES = {
  status: {
    resourceRules: [{ verbs: ['get', 'list'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/gantry/v1/history'] }],
    incomplete: false,
  },
};

const newest = ({ marks }: Recording) => marks.at(-1)?.version ?? 0;

function historyOf(recording: Recording): object {
  const marks = recording.marks.map(({ version, at }) => ({
    resourceVersion: String(version),
    at: new Date(at).toISOString(),
  }));
  const [oldest] = marks;
  return {
    at: marks.at(-1)?.at,
    keptMinutes: 0,
    oldest,
    newest: { resourceVersion: String(newest(recording)) },
    marks,
  };
}

function listOf(recording: Recording, pathname: string, query: URLSearchParams, accept: string): object {
  const place = placeOf(recordedKinds(recording), pathname);
  if (place === undefined) throw new StatusError('NotFound', `the run has not recorded ${pathname}`);
  const { kind, namespace } = place;
  const version = Number(query.get('resourceVersion') ?? newest(recording));
  if (!Number.isSafeInteger(version)) throw StatusError.badRequest('resourceVersion: is no version');
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = fieldsOf(query.get('fieldSelector') ?? '');
  const items = recording
    .objectsAt(kind.id, namespace, version)
    .filter((object) => labels.matches(object.metadata.labels) && fields.every((matches) => matches(object)));
  const metadata = { resourceVersion: String(version) };
  if (!accept.includes('as=Table')) return { kind: `${kind.kind}List`, metadata, items };
  return { kind: 'Table', metadata, columnDefinitions: COLUMNS, rows: items.map(rowOf) };
}

function placeOf(kinds: readonly Kind[], pathname: string) {
  const encoded = /\/namespaces\/([^/]+)\/[^/]+$/.exec(pathname)?.[1] ?? '';
  let namespace: string;
  try {
    namespace = decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
  const kind = kinds.find((one) => collectionPath(one, namespace) === pathname);
  return kind === undefined ? undefined : { kind, namespace };
}

/** `metadata.name=a,spec.nodeName!=b`. */
function fieldsOf(selector: string): readonly ((object: KubeObject) => boolean)[] {
  return selector
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [, path = '', operator = '', value = ''] = /^([^!=]+)(==?|!=)(.*)$/.exec(term) ?? [];
      if (path === '') throw StatusError.badRequest(`fieldSelector: ${JSON.stringify(term)} is no term`);
      return (object) => (valueAt(object, path) === value) === (operator !== '!=');
    });
}

function valueAt(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

/** The server's own columns need the server: these are what each kind has. */
const COLUMNS = [
  { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 },
  { name: 'Status', type: 'string', format: '', description: 'Phase, replicas, or the condition Ready', priority: 0 },
  { name: 'Age', type: 'date', format: '', description: '', priority: 0 },
];

function rowOf(object: KubeObject): object {
  const { metadata } = object;
  return { cells: [metadata.name, statusOf(object), metadata.creationTimestamp], object: { metadata } };
}

interface SomeStatus {
  readonly phase?: string;
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
}

function statusOf(object: KubeObject): string {
  const { status = {} } = object as KubeObject & { readonly status?: SomeStatus };
  if (typeof status.phase === 'string') return status.phase;
  if (typeof status.replicas === 'number') return `${status.readyReplicas ?? 0}/${status.replicas} ready`;
  const ready = status.conditions?.find?.(({ type }) => type === 'Ready')?.status;
  return ready === undefined ? '' : ready === 'True' ? 'Ready' : 'NotReady';
}

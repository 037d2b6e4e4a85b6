import { parsePlainBody } from '@gantry/apimachinery';
import { StatusError } from '@gantry/objects';
import type { Clock, Pieces } from '@gantry/base';
import type { Turns } from '../turns.ts';
import type { RemoteApi } from './api-service-index.ts';
import { ExcessError, fetchRemote, MAX_DISCOVERY_BYTES, RemoteError, type RemoteResponse } from './fetch-remote.ts';
import type { RemoteServers } from './remote-servers.ts';
import { type RemoteOpenApi, remoteOpenApi } from './remote-openapi.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const BETA = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/** Maximum number of resources of a group version, with their subresources. */
const MAX_RESOURCES = 1000;
/** Maximum size of an OpenAPI document. That of a whole Kubernetes API server in version 2 has 4 MB. */
const MAX_OPENAPI_BYTES = 8 * 1024 * 1024;

/** The documents of an extension server about one of its group versions. */
export interface RemoteDocuments {
  /** Resources in the form of aggregated discovery; absent while the server is unavailable. */
  readonly resources?: readonly object[];
  /** The OpenAPI document; absent when the server has none. */
  readonly openApi?: RemoteOpenApi;
  readonly freshness: 'Current' | 'Stale';
  /** The same for equal documents. */
  readonly digest: string;
}

/** The last documents of each extension server. */
export interface RemoteDirectory {
  /** Increases when any of the documents changes. */
  readonly generation: number;
  documents(remote: RemoteApi): RemoteDocuments;
  /** The bound that the documents exceed; undefined when they exceed none. */
  excess(remote: RemoteApi): string | undefined;
  /** Calls `listener` when documents exceed a bound, or no longer do. The returned function unsubscribes. */
  observe(listener: () => void): () => void;
}

/** The documents of a server that does not respond. */
export const STALE: RemoteDocuments = { freshness: 'Stale', digest: '' };

interface FetchOptions {
  readonly servers: RemoteServers;
  readonly clock: Clock;
  /** Documents are decoded in these turns. */
  readonly turns: Turns;
}

/** Fetches the documents of an extension server. Returns `before` if nothing has changed. */
export async function fetchDocuments(
  options: FetchOptions,
  remote: RemoteApi,
  before: RemoteDocuments,
  signal: AbortSignal,
): Promise<RemoteDocuments> {
  const { turns } = options;
  const discovery = await fetchDiscovery(options, remote, signal);
  const openApi = await fetchOpenApi(options, remote, signal);
  const digest = `${discovery.digest} ${openApi?.digest ?? ''}`;
  if (before.digest === digest) return before;
  return {
    resources: await turns.run(() => discoveredResources(discovery, remote), signal),
    openApi: openApi && (await turns.run(() => remoteOpenApi(openApi.body, remote), signal)),
    freshness: 'Current',
    digest,
  };
}

/** The document of a server's resources: aggregated discovery, or the APIResourceList if the server does not have that. */
async function fetchDiscovery(options: FetchOptions, remote: RemoteApi, signal: AbortSignal): Promise<RemoteResponse> {
  const accept = `${AGGREGATED},${BETA}`;
  const limit = { maxBytes: MAX_DISCOVERY_BYTES };
  const answer = await fetchRemote(options, remote, { ...limit, path: '/apis', headers: { accept } }, signal);
  if (answer.code === 503) throw new RemoteError('the service is unavailable');
  if (isAggregated(answer)) return answer;
  const path = `/apis/${remote.group}/${remote.version}`;
  const headers = { accept: 'application/json' };
  const legacy = await fetchRemote(options, remote, { ...limit, path, headers }, signal);
  if (legacy.code !== 200) throw new RemoteError(`no discovery at ${path}: ${legacy.code}`);
  return legacy;
}

function isAggregated({ code, contentType }: RemoteResponse): boolean {
  return code === 200 && /g=apidiscovery\.k8s\.io/.test(contentType);
}

/** The resources of a group version. The document is small, so this takes a single turn. */
export function* discoveredResources(answer: RemoteResponse, remote: RemoteApi): Pieces<readonly object[] | undefined> {
  const document = parse(answer.body);
  const { resources } = document as { resources?: unknown };
  const found = isAggregated(answer)
    ? aggregatedVersion(document, remote)
    : aggregatedResources(Array.isArray(resources) ? resources : []);
  if (found === undefined) return undefined;
  checkResources(found);
  return found.map(({ subresources, ...resource }) => ({
    ...withKind(resource),
    ...(Array.isArray(subresources) ? { subresources: subresources.map(withKind) } : {}),
  }));
}

function tooManyResources(): ExcessError {
  return new ExcessError(`the discovery document has more than ${MAX_RESOURCES} resources and subresources`);
}

type Fields = Readonly<Record<string, unknown>>;

/** Throws ExcessError for too many resources, and RemoteError for wrong types. */
function checkResources(resources: readonly unknown[]): asserts resources is readonly DiscoveredResource[] {
  let count = resources.length;
  for (const one of resources) {
    checkTypes(one, 'resource');
    count += (one as DiscoveredResource).subresources?.length ?? 0;
    if (count > MAX_RESOURCES) throw tooManyResources();
  }
}

/**
 * Throws RemoteError for a field of another type than in Kubernetes' APIResourceDiscovery. Clients decode the documents of all groups at
 * once: they could not read any of them. Reads no more of a value of another type than its type: copied as an object, a text has as many
 * fields as characters.
 */
function checkTypes(resource: unknown, name: 'resource' | 'subresource'): void {
  const fields = fieldsOf(name, resource);
  const { group, version, kind } = fieldsOf('responseKind', fields.responseKind ?? NO_KIND);
  const { scope, singularResource } = fields;
  const texts = { [name]: fields[name], scope, singularResource, group, version, kind };
  for (const [field, value] of Object.entries(texts)) {
    if (value !== undefined && typeof value !== 'string') throw wrongType(field, 'text');
  }
  for (const field of ['verbs', 'shortNames', 'categories']) {
    const value = fields[field] ?? [];
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw wrongType(field, 'list of texts');
  }
  const subresources = fields.subresources ?? [];
  if (!Array.isArray(subresources)) throw wrongType('subresources', 'list');
  for (const one of subresources) checkTypes(one, 'subresource');
}

function fieldsOf(name: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw wrongType(name, 'object');
}

function wrongType(field: string, type: string): RemoteError {
  return new RemoteError(`the discovery document is invalid: ${field} is no ${type}`);
}

const NO_KIND = { group: '', version: '', kind: '' };

interface Discovered {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version?: string; readonly resources?: unknown }[];
  }[];
}

interface WithKind {
  readonly responseKind?: object | null;
}

interface DiscoveredResource extends WithKind {
  readonly subresources?: readonly WithKind[] | null;
}

function withKind(resource: WithKind): object {
  return { ...resource, responseKind: resource.responseKind ?? NO_KIND };
}

function aggregatedVersion(
  document: object,
  { group, version }: Pick<RemoteApi, 'group' | 'version'>,
): readonly unknown[] | undefined {
  const { items = [] } = document as Discovered;
  const found = items
    .find(({ metadata }) => (metadata?.name ?? '') === group)
    ?.versions?.find((one) => one.version === version);
  const resources = found?.resources ?? undefined;
  if (resources !== undefined && !Array.isArray(resources)) throw wrongType('resources', 'list');
  return resources;
}

/** Fetches OpenAPI v3, or v2 if the server does not have v3. */
async function fetchOpenApi(
  options: FetchOptions,
  remote: RemoteApi,
  signal: AbortSignal,
): Promise<RemoteResponse | undefined> {
  const { group, version } = remote;
  const headers = { accept: 'application/json' };
  for (const path of [`/openapi/v3/apis/${group}/${version}`, '/openapi/v2']) {
    const answer = await fetchRemote(options, remote, { path, headers, maxBytes: MAX_OPENAPI_BYTES }, signal);
    if (answer.code === 200) return answer;
  }
  return undefined;
}

function parse(body: Buffer): object {
  try {
    const value = parsePlainBody(body, 'json');
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    if (!(error instanceof StatusError)) throw new RemoteError('the document is no JSON', { cause: error });
    throw new ExcessError(`the discovery document is too large: ${error.message}`, { cause: error });
  }
  throw new RemoteError('the document is no object');
}

/** An entry of an APIResourceList of an extension server. */
interface LegacyResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** Converts an APIResourceList to the form of aggregated discovery, which has subresources inside their resources. */
function aggregatedResources(list: readonly unknown[]): readonly object[] {
  if (list.length > MAX_RESOURCES) throw tooManyResources();
  const all = list.filter(isResource);
  const parts = Map.groupBy(
    all.filter(({ name }) => name.includes('/')),
    ({ name }) => name.slice(0, name.indexOf('/')),
  );
  const resources = all.filter(({ name }) => !name.includes('/'));
  return resources.map((resource) => {
    const subresources = parts.get(resource.name) ?? [];
    // If a resource is listed again, its subresources are not.
    parts.delete(resource.name);
    const { shortNames = [], categories = [] } = resource;
    return {
      resource: resource.name,
      responseKind: kindOf(resource),
      scope: resource.namespaced === true ? 'Namespaced' : 'Cluster',
      singularResource: resource.singularName ?? '',
      verbs: resource.verbs ?? [],
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
      ...(subresources.length === 0
        ? {}
        : {
            subresources: subresources.map((sub) => ({
              subresource: sub.name.slice(resource.name.length + 1),
              responseKind: kindOf(sub),
              verbs: sub.verbs ?? [],
            })),
          }),
    };
  });
}

function kindOf({ group = '', version = '', kind = '' }: LegacyResource): object {
  return { group, version, kind };
}

function isResource(value: unknown): value is LegacyResource {
  return typeof value === 'object' && value !== null && typeof (value as { name?: unknown }).name === 'string';
}

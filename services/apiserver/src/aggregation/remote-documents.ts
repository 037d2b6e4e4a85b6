import type { JsonObject } from '@gantry/objects';
import type { Clock } from '@gantry/base';
import type { RemoteApi } from './api-service-index.ts';
import { fetchRemote, RemoteError } from './fetch-remote.ts';
import type { RemoteServers } from './remote-servers.ts';
import { remoteOpenApi } from './remote-openapi.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const BETA = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/** The documents of an extension server about one of its group versions. */
export interface RemoteDocuments {
  /** Resources in the form of aggregated discovery; absent while the server is unavailable. */
  readonly resources?: readonly object[];
  /** The OpenAPI v3 document; absent when the server has none. */
  readonly openApi?: JsonObject;
  readonly freshness: 'Current' | 'Stale';
}

/** The last documents of each extension server. */
export interface RemoteDirectory {
  /** Increases when any of the documents changes. */
  readonly generation: number;
  documents(remote: RemoteApi): RemoteDocuments;
}

/** The documents of a server that does not respond. */
export const STALE: RemoteDocuments = { freshness: 'Stale' };

/** Fetches the documents of an extension server. */
export async function fetchDocuments(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  signal: AbortSignal,
): Promise<RemoteDocuments> {
  const resources = await fetchResources(options, remote, signal);
  const openApi = await fetchOpenApi(options, remote, signal);
  return { resources, openApi, freshness: 'Current' };
}

async function fetchResources(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  signal: AbortSignal,
): Promise<readonly object[] | undefined> {
  const { group, version } = remote;
  const accept = `${AGGREGATED},${BETA}`;
  const answer = await fetchRemote(options, remote, '/apis', { accept }, signal);
  if (answer.code === 503) throw new RemoteError('the service is unavailable');
  if (answer.code === 200 && /g=apidiscovery\.k8s\.io/.test(answer.contentType)) {
    return aggregatedVersion(parse(answer.body), group, version);
  }
  const path = `/apis/${group}/${version}`;
  const legacy = await fetchRemote(options, remote, path, { accept: 'application/json' }, signal);
  if (legacy.code !== 200) throw new RemoteError(`no discovery at ${path}: ${legacy.code}`);
  const { resources } = parse(legacy.body) as { resources?: unknown };
  return aggregatedResources(Array.isArray(resources) ? resources : []);
}

const NO_KIND = { group: '', version: '', kind: '' };

interface Discovered {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version?: string; readonly resources?: readonly DiscoveredResource[] }[];
  }[];
}

interface DiscoveredResource {
  readonly responseKind?: object | null;
  readonly subresources?: readonly { readonly responseKind?: object | null }[];
}

function aggregatedVersion(document: object, group: string, version: string): readonly object[] | undefined {
  const { items = [] } = document as Discovered;
  const found = items
    .find(({ metadata }) => (metadata?.name ?? '') === group)
    ?.versions?.find((one) => one.version === version);
  return found?.resources?.map((resource) => ({
    ...resource,
    responseKind: resource.responseKind ?? NO_KIND,
    subresources: resource.subresources?.map((sub) => ({ ...sub, responseKind: sub.responseKind ?? NO_KIND })),
  }));
}

/** Fetches OpenAPI v3, or v2 if the server does not have v3. */
async function fetchOpenApi(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const { group, version } = remote;
  for (const path of [`/openapi/v3/apis/${group}/${version}`, '/openapi/v2']) {
    const answer = await fetchRemote(options, remote, path, { accept: 'application/json' }, signal);
    if (answer.code === 200) return remoteOpenApi(parse(answer.body), group, version);
  }
  return undefined;
}

function parse(body: Buffer): object {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    throw new RemoteError('the document is no JSON', { cause: error });
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
  const resources = list.filter(isResource);
  const main = resources.filter(({ name }) => !name.includes('/'));
  return main.map((resource) => {
    const subresources = resources.filter(({ name }) => name.startsWith(`${resource.name}/`));
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

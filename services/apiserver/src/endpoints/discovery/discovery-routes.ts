import { createHash } from 'node:crypto';
import { type KindName, encodeProtobuf } from '@gantry/apimachinery';
import { type Exchange, header } from '../../http/exchange.ts';
import { formatYaml } from '../../http/go-yaml.ts';
import { acceptedDiscovery, type MediaType, negotiateDocument } from '../../http/negotiate.ts';
import { methodNotAllowed, sendBytes } from '../../http/respond.ts';
import { aggregatedDiscovery, apiGroup, apiGroupList, apiResourceList, apiVersions } from './documents.ts';
import { type Served, servedGroups } from './served-groups.ts';

/** Answers a discovery path; false when it is none. */
export type DiscoveryHandler = (exchange: Exchange) => Promise<boolean>;

interface Document {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** What is served now. */
export interface ServedNow {
  /** Rises with every change. */
  readonly generation: number;
  served(): Served;
}

export function createDiscoveryHandler(now: ServedNow): DiscoveryHandler {
  const documents = new Map<string, Document>();
  let state = { generation: now.generation, groups: servedGroups(now.served()) };
  const send = async (exchange: Exchange, what: DocumentName, build: () => object | undefined) => {
    const contentType = `${what.mediaType}${what.parameters ?? ''}`;
    const key = `${what.path} ${contentType}`;
    let document = documents.get(key);
    if (document === undefined) {
      const value = build();
      if (value === undefined) return false;
      const bytes = encode(value, what.mediaType);
      document = { bytes, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"` };
      documents.set(key, document);
    }
    await sendDocument(exchange, contentType, document);
    return true;
  };
  return async (exchange) => {
    if (state.generation !== now.generation) {
      state = { generation: now.generation, groups: servedGroups(now.served()) };
      documents.clear();
    }
    const { groups } = state;
    const path = exchange.path.length > 1 ? exchange.path.replace(/\/$/, '') : exchange.path;
    const [, root, first, second, ...more] = path.split('/');
    if ((root !== 'api' && root !== 'apis') || first === '' || more.length > 0) return false;
    const accept = header(exchange.req, 'accept');
    // The lists of groups come from in front of the router that knows methods and types.
    const isRouted = root === 'api' || second !== undefined;
    if (isRouted && exchange.method !== 'GET' && isKnown(groups, root, first, second)) throw methodNotAllowed();
    if (first === undefined) {
      const aggregated = acceptedDiscovery(accept);
      if (aggregated !== undefined) {
        const parameters = ';g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
        const name = { path: root, mediaType: aggregated, parameters };
        return send(exchange, name, () => aggregatedDiscovery(groups, root));
      }
    } else if (root === 'api' && second !== undefined) return false;
    const mediaType = negotiateDocument(accept, isRouted ? 'routed' : 'direct');
    return send(exchange, { path, mediaType }, () => {
      if (first === undefined) return root === 'api' ? apiVersions(groups) : apiGroupList(groups);
      if (root === 'api') return apiResourceList(groups, '', first);
      return second === undefined ? apiGroup(groups, first) : apiResourceList(groups, first, second);
    });
  };
}

function isKnown(
  groups: ReturnType<typeof servedGroups>,
  root: string,
  first: string | undefined,
  second: string | undefined,
): boolean {
  const [group, version] = root === 'api' ? ['', first] : [first, second];
  const found = groups.find(({ name }) => name === group);
  return found !== undefined && (version === undefined || found.versions.some((one) => one.version === version));
}

/** One form of the document at a path. */
interface DocumentName {
  readonly path: string;
  readonly mediaType: MediaType;
  /** Of the media type, with their semicolons. */
  readonly parameters?: string;
}

function encode(value: object, mediaType: MediaType): Buffer {
  if (mediaType === 'application/yaml') return Buffer.from(formatYaml(value));
  if (mediaType === 'application/json') return Buffer.from(`${JSON.stringify(value)}\n`);
  const { kind, apiVersion = 'v1' } = value as { kind: string; apiVersion?: string };
  return Buffer.from(encodeProtobuf({ ...value, kind, apiVersion } satisfies KindName));
}

async function sendDocument(exchange: Exchange, contentType: string, { bytes, etag }: Document): Promise<void> {
  const { req, res } = exchange;
  res.setHeader('etag', etag);
  res.setHeader('vary', 'Accept');
  res.setHeader('cache-control', 'public');
  if (header(req, 'if-none-match') === etag) {
    res.statusCode = 304;
    res.end();
    return;
  }
  await sendBytes(exchange, 200, contentType, bytes);
}

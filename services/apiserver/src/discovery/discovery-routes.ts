import { createHash } from 'node:crypto';
import { encodeProtobuf, type KindName } from '@gantry/api';
import { stringify } from 'yaml';
import { type Exchange, header } from '../rest/exchange.ts';
import { acceptedDiscovery, type MediaType, negotiateOutput } from '../rest/negotiate.ts';
import { sendBytes } from '../rest/respond.ts';
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
  return (exchange) => {
    if (state.generation !== now.generation) {
      state = { generation: now.generation, groups: servedGroups(now.served()) };
      documents.clear();
    }
    const { groups } = state;
    const path = exchange.path.length > 1 ? exchange.path.replace(/\/$/, '') : exchange.path;
    const [, root, first, second, ...more] = path.split('/');
    if ((root !== 'api' && root !== 'apis') || first === '' || more.length > 0) return Promise.resolve(false);
    const accept = header(exchange.req, 'accept');
    if (first === undefined) {
      const form = acceptedDiscovery(accept);
      if (form !== undefined) {
        const { mediaType, version } = form;
        const parameters = `;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
        return send(exchange, { path: root, mediaType, parameters }, () => aggregatedDiscovery(groups, root, version));
      }
    } else if (root === 'api' && second !== undefined) return Promise.resolve(false);
    const { mediaType } = negotiateOutput(plainAccept(accept), 'single', 'no-tables');
    return send(exchange, { path, mediaType }, () => {
      if (first === undefined) return root === 'api' ? apiVersions(groups) : apiGroupList(groups);
      if (root === 'api') return apiResourceList(groups, '', first);
      return second === undefined ? apiGroup(groups, first) : apiResourceList(groups, first, second);
    });
  };
}

/** One form of the document at a path. */
interface DocumentName {
  readonly path: string;
  readonly mediaType: MediaType;
  /** Of the media type, with their semicolons. */
  readonly parameters?: string;
}

function encode(value: object, mediaType: MediaType): Buffer {
  if (mediaType === 'application/yaml') return Buffer.from(stringify(value));
  if (mediaType === 'application/json') return Buffer.from(`${JSON.stringify(value)}\n`);
  const { kind, apiVersion = 'v1' } = value as { kind: string; apiVersion?: string };
  return Buffer.from(encodeProtobuf({ ...value, kind, apiVersion } satisfies KindName));
}

/** Clauses for aggregated forms that are not served do not make a request unacceptable. */
function plainAccept(accept: string | undefined): string | undefined {
  const plain = accept?.split(',').filter((clause) => !clause.includes('APIGroupDiscoveryList'));
  return plain === undefined || plain.length === 0 ? undefined : plain.join(',');
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

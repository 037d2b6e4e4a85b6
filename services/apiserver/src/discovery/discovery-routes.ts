import { createHash } from 'node:crypto';
import { type Exchange, header } from '../rest/exchange.ts';
import { acceptedDiscovery, negotiateOutput } from '../rest/negotiate.ts';
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
  const send = async (exchange: Exchange, key: string, contentType: string, build: () => object | undefined) => {
    let document = documents.get(key);
    if (document === undefined) {
      const value = build();
      if (value === undefined) return false;
      const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
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
      const version = acceptedDiscovery(accept);
      if (version !== undefined) {
        const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
        return send(exchange, `${root} ${version}`, type, () => aggregatedDiscovery(groups, root, version));
      }
      negotiateOutput(plainAccept(accept), 'single');
      return send(exchange, root, 'application/json', () =>
        root === 'api' ? apiVersions(groups) : apiGroupList(groups),
      );
    }
    if (root === 'api' && second === undefined) {
      return send(exchange, path, 'application/json', () => apiResourceList(groups, '', first));
    }
    if (root === 'api') return Promise.resolve(false);
    if (second === undefined) return send(exchange, path, 'application/json', () => apiGroup(groups, first));
    return send(exchange, path, 'application/json', () => apiResourceList(groups, first, second));
  };
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

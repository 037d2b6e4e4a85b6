import { createHash } from 'node:crypto';
import { type KindName, encodeProtobuf } from '@gantry/apimachinery';
import { Router } from 'express';
import { type Exchange, header } from '../../http/exchange.ts';
import { formatYaml } from '../../http/go-yaml.ts';
import { acceptedDiscovery, type MediaType, negotiateDocument } from '../../http/negotiate.ts';
import { onlyGet, page, type Page, PAGE_ROUTING } from '../../http/page.ts';
import { sendKept } from '../../http/respond.ts';
import { aggregatedDiscovery, apiGroup, apiGroupList, apiResourceList, apiVersions } from './documents.ts';
import { type Served, type ServedGroup, servedGroups } from './served-groups.ts';

/** The currently served groups. */
export interface ServedNow {
  /** Increases with every change. */
  readonly generation: number;
  served(): Served;
}

type Groups = readonly ServedGroup[];

/** Routes of discovery: groups, their versions, and the resources of each version. */
export function discoveryRoutes(now: ServedNow): Router {
  const router = Router(PAGE_ROUTING);
  const documents = new Documents(now);
  const isServed = (group: string, version?: string): boolean => {
    const found = documents.groups().find(({ name }) => name === group);
    return found !== undefined && (version === undefined || found.versions.some((one) => one.version === version));
  };
  const onlyGetOf =
    (group: string | undefined): Page =>
    (req, res, next) => {
      const { version } = req.params;
      if (isServed(group ?? req.params['group'] ?? '', version)) onlyGet(req, res, next);
      else next();
    };
  // In Kubernetes the lists of groups are served before the router, which checks methods and media types.
  const list = (root: 'api' | 'apis', form: 'routed' | 'direct', build: (groups: Groups) => object): Page =>
    page((exchange) => {
      const accept = header(exchange.req, 'accept');
      const aggregated = acceptedDiscovery(accept);
      if (aggregated === undefined) return documents.send(exchange, negotiateDocument(accept, form), build);
      const parameters = ';g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      return documents.send(exchange, aggregated, (groups) => aggregatedDiscovery(groups, root), parameters);
    });
  const document = (build: (groups: Groups, params: Readonly<Record<string, string>>) => object | undefined): Page =>
    page((exchange, params) => {
      const mediaType = negotiateDocument(header(exchange.req, 'accept'), 'routed');
      return documents.send(exchange, mediaType, (groups) => build(groups, params));
    });
  router.all('/api{/}', onlyGetOf(''), list('api', 'routed', apiVersions));
  router.all('/apis{/}', list('apis', 'direct', apiGroupList));
  router.all(
    '/api/:version{/}',
    onlyGetOf(''),
    document((groups, { version = '' }) => apiResourceList(groups, '', version)),
  );
  router.all(
    '/apis/:group{/}',
    onlyGetOf(undefined),
    document((groups, { group = '' }) => apiGroup(groups, group)),
  );
  router.all(
    '/apis/:group/:version{/}',
    onlyGetOf(undefined),
    document((groups, { group = '', version = '' }) => apiResourceList(groups, group, version)),
  );
  return router;
}

/** Encoded documents, cached until the served resources change. */
class Documents {
  readonly #now: ServedNow;
  readonly #encoded = new Map<string, { readonly bytes: Buffer; readonly hash: string }>();
  #generation: number;
  #groups: Groups;

  constructor(now: ServedNow) {
    this.#now = now;
    this.#generation = now.generation;
    this.#groups = servedGroups(now.served());
  }

  groups(): Groups {
    if (this.#generation !== this.#now.generation) {
      this.#generation = this.#now.generation;
      this.#groups = servedGroups(this.#now.served());
      this.#encoded.clear();
    }
    return this.#groups;
  }

  /** Sends the document of a path, if it exists. `parameters` are those of the media type, with their semicolons. */
  async send(
    exchange: Exchange,
    mediaType: MediaType,
    build: (groups: Groups) => object | undefined,
    parameters = '',
  ): Promise<void | 'next'> {
    const groups = this.groups();
    const contentType = `${mediaType}${parameters}`;
    const key = `${exchange.path.replace(/\/$/, '')} ${contentType}`;
    let document = this.#encoded.get(key);
    if (document === undefined) {
      const value = build(groups);
      if (value === undefined) return 'next';
      const bytes = encode(value, mediaType);
      document = { bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
      this.#encoded.set(key, document);
    }
    exchange.res.setHeader('cache-control', 'public');
    return sendKept(exchange, contentType, document);
  }
}

function encode(value: object, mediaType: MediaType): Buffer {
  if (mediaType === 'application/yaml') return Buffer.from(formatYaml(value));
  if (mediaType === 'application/json') return Buffer.from(`${JSON.stringify(value)}\n`);
  const { kind, apiVersion = 'v1' } = value as { kind: string; apiVersion?: string };
  return Buffer.from(encodeProtobuf({ ...value, kind, apiVersion } satisfies KindName));
}

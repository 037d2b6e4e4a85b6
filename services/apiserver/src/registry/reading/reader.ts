import { append } from '@gantry/base';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { type JsonObject, StatusError } from '@gantry/objects';
import {
  createEntry,
  type Entry,
  type Filter,
  listVersion,
  namespacePrefix,
  objectKey,
  type ResourceCache,
  revisionOf,
  SharedResponse,
  STORED_VIEW,
} from '../../cache/index.ts';
import type { ListResponse, ListRequest, RequestContext, Target, WatchRequest } from '../contract/registry.ts';
import type { ObjectResponse, WatchItem } from '../../cache/object-response.ts';
import { StoreError } from '../../storage/object-store.ts';
import type { RegistryDependencies } from '../contract/dependencies.ts';
import { convertedWatch, storedFilter } from './converted-watch.ts';
import { filterOf, parseResourceVersion, tooLargeVersion, tooOld } from './filter.ts';
import { encodeProtobuf } from '../objects/response-of.ts';
import { continueExpired, type Page, pageOf, startOf, tokenAfter } from './paging.ts';
import { requireReplicas, scaleOf } from '../subresources/scale.ts';
import { fromStore } from '../../storage/store-errors.ts';
import { groupResource, requireSubresource } from '../contract/target.ts';

/** How long a linearizable read waits for the cache before it reads from the store. */
const CATCH_UP_MS = 1000;
/** How long a read waits until the cache has reached the requested version. */
const NOT_OLDER_MS = 3000;

/** A list request, with the filter and the key prefix that result from it. */
interface Listing {
  readonly definition: ResourceDefinition;
  readonly request: ListRequest;
  /** The prefix of the keys of the resource in the namespace. */
  readonly prefix: string;
  readonly filter: Filter;
}

/** Gets, lists and watches. Reads from the cache if it is fresh enough, else from the store. */
export class Reader {
  readonly #deps: RegistryDependencies;

  constructor(deps: RegistryDependencies) {
    this.#deps = deps;
  }

  async get(context: RequestContext, target: Target, resourceVersion: string): Promise<ObjectResponse> {
    const { definition, namespace, name } = target;
    const subresource = requireSubresource(target, 'get');
    const key = objectKey(definition, namespace, name);
    const cached = await this.#fresh(resourceVersion, context.signal);
    const stored = cached ? this.#deps.cache.resource(definition).get(key) : await this.fromStore(key, context.signal);
    const entry = stored === undefined ? undefined : await this.shown(definition, stored);
    this.#deps.authorizer.authorize(context, 'get', target, json(entry));
    if (entry === undefined) throw StatusError.notFound(groupResource(definition), name);
    if (subresource?.scale === undefined) return entry.response;
    requireReplicas(entry.response.object, subresource.scale);
    return new SharedResponse(scaleOf(entry.response.object, subresource.scale), encodeProtobuf);
  }

  /** Converts an entry to the version of the definition. */
  async shown(definition: ResourceDefinition, stored: Entry): Promise<Entry> {
    const view = this.#deps.cache.view(definition);
    if (view.remote) await view.prepare([stored]);
    return view.entry(stored);
  }

  /** Converts entries to the version of the definition. */
  async #allShown(definition: ResourceDefinition, stored: readonly Entry[]): Promise<readonly Entry[]> {
    const view = this.#deps.cache.view(definition);
    if (view === STORED_VIEW) return stored;
    if (view.remote) await view.prepare(stored);
    return stored.map((entry) => view.entry(entry));
  }

  /** Reads the object from the store, in its storage version. */
  async fromStore(key: string, signal: AbortSignal): Promise<Entry | undefined> {
    const stored = await fromStore(this.#deps.store.get(key, signal));
    return stored === null ? undefined : createEntry(stored, encodeProtobuf);
  }

  async list(context: RequestContext, definition: ResourceDefinition, request: ListRequest): Promise<ListResponse> {
    this.#authorizeCollection(context, 'list', definition, request);
    return this.select(context, definition, request);
  }

  /** Lists without an authorisation check. The caller must have authorised the user. */
  async select(context: RequestContext, definition: ResourceDefinition, request: ListRequest): Promise<ListResponse> {
    const filter = filterOf(definition, request);
    const prefix = namespacePrefix(definition, request.namespace);
    const listing = { definition, request, prefix, filter };
    if (request.continueToken !== '') return this.#continue(context, listing);
    const version = parseResourceVersion(request.resourceVersion, 'invalid resource version: ');
    // A list with a limit and a version means exactly that version, unless resourceVersionMatch says otherwise.
    const exact =
      request.resourceVersionMatch === 'Exact' || (request.resourceVersionMatch === '' && request.limit > 0);
    if (exact && version !== undefined) return this.#exact(context, listing, version);
    const limit = request.resourceVersion === '0' ? 0 : request.limit;
    const cached = await this.#fresh(request.resourceVersion, context.signal);
    if (!cached) return this.#pageFromStore(context, listing, {});
    const { cache } = this.#deps;
    const resource = cache.resource(definition);
    const { revision } = cache;
    if (limit === 0) {
      const items = select(await this.#allShown(definition, resource.candidates(filter)), filter);
      return { items, resourceVersion: listVersion(revision), continueToken: '', remainingItemCount: undefined };
    }
    const snapshot = resource.snapshot();
    const page = pageOf(await this.#allShown(definition, snapshot), prefix, undefined, filter, limit);
    if (page.next !== undefined) resource.remember(revision, snapshot);
    return listResponse(page, listVersion(revision), prefix, filter);
  }

  async watch(
    context: RequestContext,
    definition: ResourceDefinition,
    request: WatchRequest,
  ): Promise<AsyncIterable<readonly WatchItem[]>> {
    this.#authorizeCollection(context, 'watch', definition, request);
    const filter = filterOf(definition, request);
    const { cache } = this.#deps;
    const version = parseResourceVersion(request.resourceVersion);
    const resource = cache.resource(definition);
    const fromState =
      request.sendInitialEvents === true || (request.sendInitialEvents === undefined && version === undefined);
    if (version === undefined || fromState) {
      const reached = await this.#fresh(request.resourceVersion, context.signal);
      if (!reached) throw StatusError.unavailable('the watch cache is behind the store; try again');
    } else await cache.whenReady(context.signal);
    const start = fromState
      ? ({ kind: 'state', endBookmark: request.sendInitialEvents === true && request.allowBookmarks } as const)
      : ({ kind: 'after', resourceVersion: version ?? listVersion(cache.revision) } as const);
    const view = cache.view(definition);
    const watcher = resource.watch(start, view.remote ? storedFilter(filter) : filter, {
      bookmarks: request.allowBookmarks,
      revision: cache.revision,
      view: view.remote ? STORED_VIEW : view,
    });
    const lifetime = this.#deps.resourceRegistry.lifetime(definition);
    if (lifetime !== undefined) watcher.endWith(lifetime);
    watcher.endWith(context.signal);
    if (!view.remote) return watcher;
    const show = (stored: Entry) => this.shown(definition, stored);
    return convertedWatch(watcher, { definition, resource, filter, fromState, show });
  }

  /** Whether the cache can serve a read at this version. If not, the caller must read from the store. */
  async #fresh(resourceVersion: string, signal: AbortSignal): Promise<boolean> {
    const { cache } = this.#deps;
    if (resourceVersion === '') return fromStore(cache.catchUp(CATCH_UP_MS, signal));
    await cache.whenReady(signal);
    const version = parseResourceVersion(resourceVersion);
    if (version === undefined) return true;
    await this.#mustReach(version, signal, resourceVersion);
    return true;
  }

  async #mustReach(version: number, signal: AbortSignal, text = String(version)): Promise<void> {
    const { cache } = this.#deps;
    if (await cache.reach(revisionOf(version), NOT_OLDER_MS, signal)) return;
    throw tooLargeVersion(text, listVersion(cache.revision));
  }

  async #exact(context: RequestContext, listing: Listing, version: number): Promise<ListResponse> {
    const { definition, request, prefix, filter } = listing;
    const old = tooOld(version);
    if (old !== undefined) throw old;
    await this.#mustReach(version, context.signal, request.resourceVersion);
    const revision = revisionOf(version);
    const entries = this.#entriesAt(this.#deps.cache.resource(definition), revision);
    if (entries === undefined) return this.#pageFromStore(context, listing, { revision });
    const shown = await this.#allShown(definition, entries);
    return listResponse(pageOf(shown, prefix, undefined, filter, request.limit), listVersion(revision), prefix, filter);
  }

  async #continue(context: RequestContext, listing: Listing): Promise<ListResponse> {
    const { definition, request, prefix, filter } = listing;
    const { startKey, resourceVersion } = startOf(request.continueToken, prefix);
    if (request.resourceVersion !== '' && request.resourceVersion !== '0') {
      throw StatusError.badRequest('specifying resource version is not allowed when using continue');
    }
    if (resourceVersion === undefined) return this.#pageFromStore(context, listing, { startKey });
    const revision = revisionOf(resourceVersion);
    await this.#mustReach(resourceVersion, context.signal);
    const entries = this.#entriesAt(this.#deps.cache.resource(definition), revision);
    if (entries !== undefined) {
      // A continue token expires when etcd compacts its version, even if the cache still has the snapshot.
      await this.#deps.store
        .list(prefix, { limit: 1, startKey, revision }, context.signal)
        .catch((error: unknown) => this.#pageFailed(error, startKey, prefix, context.signal));
      const shown = await this.#allShown(definition, entries);
      return listResponse(pageOf(shown, prefix, startKey, filter, request.limit), resourceVersion, prefix, filter);
    }
    return this.#pageFromStore(context, listing, { startKey, revision });
  }

  /** The snapshot at `revision`; undefined if the cache does not have it any more. */
  #entriesAt(resource: ResourceCache, revision: number): readonly Entry[] | undefined {
    const { cache } = this.#deps;
    if (!cache.ready) return undefined;
    if (resource.lastChange <= listVersion(revision) && revision <= cache.revision) return resource.snapshot();
    return resource.remembered(revision);
  }

  /** Reads a page from the store. Continues until the limit is reached or no key is left. */
  async #pageFromStore(
    context: RequestContext,
    { definition, request, prefix, filter }: Listing,
    at: { readonly startKey?: string; readonly revision?: number },
  ): Promise<ListResponse> {
    const { store } = this.#deps;
    const items: Entry[] = [];
    let startKey = at.startKey;
    let revision = at.revision;
    for (;;) {
      const limit = request.limit === 0 ? undefined : request.limit - items.length;
      const page = await store
        .list(
          prefix,
          {
            ...(limit === undefined ? {} : { limit: filter.selectsAll ? limit : Math.max(limit, 500) }),
            startKey,
            revision,
          },
          context.signal,
        )
        .catch((error: unknown) => this.#pageFailed(error, at.startKey, prefix, context.signal));
      revision = page.revision;
      const stored = page.objects.map((one) => createEntry(one, encodeProtobuf));
      const entries = await this.#allShown(definition, stored);
      const part = pageOf(entries, prefix, undefined, filter, limit ?? 0);
      append(items, part.items);
      const next = part.next ?? page.next;
      const full = request.limit > 0 && items.length >= request.limit;
      if (full || next === undefined) {
        const remaining = next === undefined ? 0 : page.remaining + (part.remaining ?? 0);
        return listResponse({ items, next, remaining }, listVersion(revision), prefix, filter);
      }
      startKey = next;
    }
  }

  async #pageFailed(error: unknown, startKey: string | undefined, prefix: string, signal: AbortSignal): Promise<never> {
    if (error instanceof StoreError && error.code === 'compacted' && startKey !== undefined) {
      await this.#deps.cache.whenReady(signal);
      throw continueExpired(startKey.slice(prefix.length));
    }
    return fromStore(Promise.reject(error));
  }

  #authorizeCollection(
    context: RequestContext,
    verb: 'list' | 'watch',
    definition: ResourceDefinition,
    request: { readonly namespace: string; readonly fieldSelector: string },
  ): void {
    const target: Target = { definition, namespace: request.namespace, name: '', subresource: '' };
    this.#deps.authorizer.authorize(context, verb, target, undefined, request.fieldSelector);
  }
}

function json(entry: Entry | undefined): JsonObject | undefined {
  return entry?.response.object as JsonObject | undefined;
}

/** The entries that the filter matches. */
function select(entries: readonly Entry[], filter: Filter): readonly ObjectResponse[] {
  // The entries are in the namespace of the filter already, so they need not be checked one by one.
  if (filter.selectsAll) return entries.map(({ response }) => response);
  const items: ObjectResponse[] = [];
  for (const { response } of entries) if (filter.matches(response.object)) items.push(response);
  return items;
}

function listResponse(page: Page, resourceVersion: number, prefix: string, filter: Filter): ListResponse {
  return {
    items: page.items.map((entry) => entry.response),
    resourceVersion,
    continueToken: page.next === undefined ? '' : tokenAfter(page.next, prefix, resourceVersion),
    remainingItemCount: page.next === undefined || !filter.selectsAll ? undefined : page.remaining,
  };
}

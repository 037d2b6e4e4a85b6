import type { IncomingMessage } from 'node:http';
import { parseJson } from '@gantry/apimachinery';
import {
  apiVersionOf,
  type KubeObject,
  type ObjectKey,
  type Resource,
  type ResourceRef,
  StatusError,
} from '@gantry/objects';
import { append, type Clock, DeadlineError, errorMessage, sleep, systemClock } from '@gantry/base';
import type {
  ListOptions,
  ObjectClient,
  ObjectList,
  ObjectWrite,
  WatchEvent,
  WatchOptions,
  WriteResult,
} from '../object-client.ts';
import { ObjectCalls } from '../object-calls.ts';
import { writeResult } from '../write-result.ts';
import type { TlsSource } from '@gantry/tls';
import { FENCE_HEADER, formatFence } from './fence-header.ts';
import { ConnectionError, type Dialling, type HttpRequest, HttpTransport } from './http-transport.ts';
import type { HttpTarget } from './kubeconfig.ts';
import { watchEvents } from './watch-events.ts';

export interface HttpClientOptions extends HttpTarget, Dialling {
  /** Replaces `ca`, `cert` and `key` where these are renewed. */
  readonly tls?: TlsSource;
  readonly fieldManager?: string;
  readonly clock?: Clock;
  /** Milliseconds for one request; 30 000 when absent. Watches have no deadline. */
  readonly deadlineMs?: number;
  /** Larger responses, and larger events of watches, are errors; no limit when absent. */
  readonly maxResponseBytes?: number;
}

/** An `ObjectClient` over REST, which can also send raw requests. Dispose of it to close its connections. */
export interface HttpClient extends ObjectClient, Disposable {
  /** Returns the text of the response. Rejects with StatusError for a code of 400 or more. */
  raw(request: HttpRequest, signal: AbortSignal): Promise<string>;
}

interface RawList {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly KubeObject[] | null;
}

const JSON_TYPE = 'application/json';
/** Servers without support for metadata-only responses send whole objects. */
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

const READ_ATTEMPTS = 4;
const READ_RETRY_MS = 150;
/**
 * Milliseconds that the attempts of a read wait for the response to begin, indexed by the number of earlier attempts that timed out.
 * Refused connections are not counted. At the start of a cluster and after a failover, a connection may lead to a server that does not
 * respond, while a new connection may lead to another server. Later attempts have no limit, to give an overloaded server time.
 */
const HEAD_MS: readonly number[] = [5000, 10_000];
/** Servers begin the response of a watch at once. So the last attempt has a limit too, and fails when it passes. */
const WATCH_HEAD_MS: readonly number[] = [...HEAD_MS, 30_000];
const BATCH_PARALLEL = 8;

/** Creates a client for the Kubernetes REST API, as clients outside the cluster use it. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return new HttpObjectClient(options);
}

class HttpObjectClient extends ObjectCalls implements HttpClient {
  readonly #transport: HttpTransport;
  readonly #options: HttpClientOptions;
  readonly #clock: Clock;

  constructor(options: HttpClientOptions) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#transport = new HttpTransport(options, options.fieldManager ?? 'gantry', this.#clock);
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T> {
    return parseJson(await this.#read({ path: pathOf(resource, key.namespace, key.name) }, signal)) as T;
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<ObjectList<T>> {
    const query = queryOf({
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      limit: options.limit === undefined || options.limit === 0 ? undefined : String(options.limit),
      continue: options.continueToken,
    });
    const accept = options.metadataOnly === true ? METADATA_LIST : JSON_TYPE;
    const text = await this.#read({ path: `${pathOf(resource, options.namespace ?? '')}${query}`, accept }, signal);
    const list = parseJson(text) as RawList;
    const kind = (list.kind ?? '').replace(/List$/, '');
    return {
      // Items of a list have neither apiVersion nor kind on the wire.
      items: (list.items ?? []).map((item) => ({ ...item, apiVersion: apiVersionOf(resource), kind }) as T),
      resourceVersion: list.metadata?.resourceVersion ?? '',
      continueToken: list.metadata?.continue ?? '',
    };
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    const query = queryOf({
      watch: 'true',
      allowWatchBookmarks: 'true',
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      ...(options.sendInitialEvents === true
        ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
        : {}),
    });
    const path = `${pathOf(resource, options.namespace ?? '')}${query}`;
    const accept = options.metadataOnly === true ? METADATA : JSON_TYPE;
    try {
      const response = await this.#openWatch({ method: 'GET', path, accept }, signal);
      try {
        yield [];
        yield* watchEvents<T>(response, this.#options.maxResponseBytes);
      } finally {
        response.destroy();
      }
    } catch (error) {
      signal.throwIfAborted();
      throw asStatusError(error, 'read');
    }
    signal.throwIfAborted();
    throw StatusError.unavailable('the server ended the watch');
  }

  async write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
    try {
      const request = requestOf(write, this.#options.fieldManager);
      const { fence } = write;
      const fenced = fence === undefined ? request : { ...request, headers: { [FENCE_HEADER]: formatFence(fence) } };
      return parseJson(await this.#transport.text(fenced, signal, this.#deadline())) as KubeObject;
    } catch (error) {
      signal.throwIfAborted();
      throw asStatusError(error, 'write');
    }
  }

  async batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]> {
    const results: WriteResult[] = [];
    for (let start = 0; start < writes.length; start += BATCH_PARALLEL) {
      const part = writes.slice(start, start + BATCH_PARALLEL).map((write) => writeResult(this.write(write, signal)));
      append(results, await Promise.all(part));
    }
    return results;
  }

  async raw(request: HttpRequest, signal: AbortSignal): Promise<string> {
    if (request.method === 'GET') return await this.#read(request, signal);
    try {
      return await this.#transport.text(request, signal, this.#deadline());
    } catch (error) {
      signal.throwIfAborted();
      throw asStatusError(error, 'write');
    }
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]();
  }

  #deadline(): { readonly deadlineMs: number } {
    return { deadlineMs: this.#options.deadlineMs ?? 30_000 };
  }

  async #openWatch(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    for (let late = 0; ; late++) {
      try {
        return await this.#transport.open(request, signal, { headMs: WATCH_HEAD_MS[late] });
      } catch (error) {
        signal.throwIfAborted();
        if (late + 1 === WATCH_HEAD_MS.length || !isLate(error)) throw error;
      }
    }
  }

  async #read(request: Pick<HttpRequest, 'path' | 'accept'>, signal: AbortSignal): Promise<string> {
    let late = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        const limits = { ...this.#deadline(), headMs: HEAD_MS[late] };
        return await this.#transport.text({ ...request, method: 'GET' }, signal, limits);
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === READ_ATTEMPTS || !(error instanceof ConnectionError)) throw asStatusError(error, 'read');
        if (isLate(error)) late += 1;
      }
      await sleep(this.#clock, READ_RETRY_MS * attempt, signal);
    }
  }
}

/** Whether a response did not begin in time. */
function isLate(error: unknown): boolean {
  return error instanceof ConnectionError && error.cause instanceof DeadlineError;
}

function asStatusError(error: unknown, what: 'read' | 'write'): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof ConnectionError && (what === 'read' || error.sent === 'no')) {
    return StatusError.unavailable(`no API server can be reached: ${error.message}`);
  }
  return StatusError.timeout(what === 'write' ? `outcome unknown: ${errorMessage(error)}` : errorMessage(error));
}

/** The path of a collection, or of an object in it. */
export function pathOf(resource: ResourceRef, namespace: string, name?: string, subresource?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  const part = subresource === undefined ? '' : `/${subresource}`;
  return `${root}${scope}/${resource.resource}${object}${part}`;
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== '') query.set(name, value);
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function requestOf(write: ObjectWrite, fieldManager: string | undefined): HttpRequest {
  const query = queryOf({ fieldManager });
  const { resource } = write;
  switch (write.verb) {
    case 'create': {
      const name = write.subresource === undefined ? undefined : (write.name ?? write.object.metadata.name);
      const path = pathOf(resource, write.namespace, name, write.subresource);
      return { method: 'POST', path: path + query, body: JSON.stringify(write.object) };
    }
    case 'update': {
      const path = pathOf(resource, write.key.namespace, write.key.name, write.subresource);
      return { method: 'PUT', path: path + query, body: JSON.stringify(write.object) };
    }
    case 'patch': {
      const path = pathOf(resource, write.key.namespace, write.key.name, write.subresource);
      const force = write.patchType === 'application/apply-patch+yaml' ? 'true' : undefined;
      const own = queryOf({ fieldManager: write.fieldManager ?? fieldManager, force });
      return { method: 'PATCH', path: path + own, body: JSON.stringify(write.patch), contentType: write.patchType };
    }
    case 'delete': {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', ...write.options });
      return { method: 'DELETE', path: pathOf(resource, write.key.namespace, write.key.name), body };
    }
  }
}

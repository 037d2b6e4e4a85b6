import { lookup as dnsLookup } from 'node:dns/promises';
import { create, type Message } from '@bufbuild/protobuf';
import { type ClientReadableStream, status as GrpcStatus } from '@grpc/grpc-js';
import { type KubeObject, type ObjectKey, type Resource, type Status, StatusError } from '@gantry/objects';
import {
  backoffMs,
  type BackoffOptions,
  type Clock,
  onAbort,
  type Random,
  sleep,
  systemClock,
  systemRandom,
  withDeadline,
} from '@gantry/base';
import {
  type BatchReply,
  BatchRequestSchema,
  GetRequestSchema,
  type ListReply,
  ListRequestSchema,
  type MethodDefinition,
  type ObjectReply,
  ObjectService,
  serviceDefinition,
  type WatchBatch,
  WatchRequestSchema,
  WriteRequestSchema,
} from '@gantry/proto';
import type {
  Fence,
  ListOptions,
  ObjectClient,
  ObjectList,
  ObjectWrite,
  WatchEvent,
  WatchOptions,
  WriteResult,
} from '../object-client.ts';
import { ObjectCalls } from '../object-calls.ts';
import type { TlsSource } from '@gantry/tls';
import { type Endpoint, Endpoints, type Lookup } from './endpoints.ts';
import { decodeJson, decodeObject, encodeFence, encodeWrite } from './messages.ts';
import { fromFailedCall, isFailedCall, sentStatus, wasNeverSent } from './status-mapping.ts';

export interface GrpcClientOptions {
  /** `host:port` of API servers; a host name may have several addresses. */
  readonly addresses: readonly string[];
  readonly tls: TlsSource;
  /** The field manager that is recorded in managedFields. */
  readonly fieldManager: string;
  /** Returns the leader's fence; called for every write. Undefined for writers that are not leaders. */
  readonly fence?: () => Fence | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly lookup?: Lookup;
  /** Milliseconds for one call with all its attempts; 10 000 when absent. Watches have no deadline. */
  readonly deadlineMs?: number;
}

/** An `ObjectClient` over gRPC. Dispose of it to close its connections. */
export type GrpcClient = ObjectClient & Disposable;

type MethodName = keyof typeof ObjectService.method;

const DEFAULT_DEADLINE_MS = 10_000;
/** Milliseconds that a small read waits for a response before another address is tried. Doubles with each attempt. */
const GET_ATTEMPT_MS = 800;
const LIST_ATTEMPT_MS = 5000;
/** Delays between rounds in which every server failed. */
const RETRY: BackoffOptions = { initialMs: 20, maxMs: 1000, jitter: 0.5 };

/**
 * Connects to all addresses of the API servers. Reads are repeated at another server when one is lost or slow. Writes are repeated only if
 * they were certainly not sent; otherwise a lost connection rejects with StatusError Timeout, which means that the outcome is unknown.
 */
export function createGrpcClient(options: GrpcClientOptions): GrpcClient {
  return new GrpcObjectClient(options);
}

class GrpcObjectClient extends ObjectCalls implements Disposable {
  readonly #options: GrpcClientOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #endpoints: Endpoints;
  readonly #floor: VersionFloor = createVersionFloor();
  readonly #methods = serviceDefinition(ObjectService);

  constructor(options: GrpcClientOptions) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#endpoints = new Endpoints({
      addresses: options.addresses,
      tls: options.tls,
      clock: this.#clock,
      random: this.#random,
      lookup: options.lookup ?? lookupAll,
    });
  }

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, signal: AbortSignal): Promise<T> {
    const request = create(GetRequestSchema, { resource: { ...resource }, ...key });
    const reply = await this.#read<ObjectReply>('get', request, GET_ATTEMPT_MS, signal);
    return this.#seen(decodeObject<T>(reply.object));
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    signal: AbortSignal,
  ): Promise<ObjectList<T>> {
    const request = create(ListRequestSchema, {
      resource: { ...resource },
      namespace: options.namespace ?? '',
      labelSelector: options.labelSelector ?? '',
      fieldSelector: options.fieldSelector ?? '',
      resourceVersion: this.#floor.apply(options.resourceVersion),
      limit: BigInt(options.limit ?? 0),
      continueToken: options.continueToken ?? '',
      metadataOnly: options.metadataOnly ?? false,
    });
    const reply = await this.#read<ListReply>('list', request, LIST_ATTEMPT_MS, signal);
    this.#floor.saw(reply.resourceVersion);
    return {
      items: reply.objects.map((bytes) => decodeObject<T>(bytes)),
      resourceVersion: reply.resourceVersion,
      continueToken: reply.continueToken,
    };
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    const request = create(WatchRequestSchema, {
      resource: { ...resource },
      namespace: options.namespace ?? '',
      labelSelector: options.labelSelector ?? '',
      fieldSelector: options.fieldSelector ?? '',
      resourceVersion: this.#floor.apply(options.resourceVersion),
      sendInitialEvents: options.sendInitialEvents ?? false,
      metadataOnly: options.metadataOnly ?? false,
    });
    const endpoint = await this.#acquire(new Set(), signal);
    signal.throwIfAborted();
    const { path, requestSerialize, responseDeserialize } = this.#method('watch');
    const call = endpoint.client.makeServerStreamRequest<Message, Message>(
      path,
      requestSerialize,
      responseDeserialize,
      request,
    ) as ClientReadableStream<WatchBatch>;
    // After the loop below, an 'error' without a listener (from our cancellation) would end the process.
    call.on('error', () => undefined);
    using _ = onAbort(signal, () => call.cancel());
    try {
      for await (const batch of call as AsyncIterable<WatchBatch>) {
        signal.throwIfAborted();
        this.#floor.saw(batch.resourceVersion);
        yield decodeBatch<T>(batch);
      }
      throw StatusError.unavailable('the server ended the watch');
    } catch (error) {
      signal.throwIfAborted();
      throw fromFailedCall(error);
    } finally {
      call.cancel();
    }
  }

  async write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
    const request = create(WriteRequestSchema, {
      write: encodeWrite(write, this.#options.fieldManager),
      ...this.#fence(),
    });
    const reply = await this.#writeOnce<ObjectReply>(methodOf(write), request, signal);
    return this.#seen(decodeObject(reply.object));
  }

  async batch(writes: readonly ObjectWrite[], signal: AbortSignal): Promise<readonly WriteResult[]> {
    const request = create(BatchRequestSchema, {
      writes: writes.map((write) => encodeWrite(write, this.#options.fieldManager)),
      ...this.#fence(),
    });
    const reply = await this.#writeOnce<BatchReply>('batch', request, signal);
    return reply.results.map(({ outcome }): WriteResult => {
      switch (outcome.case) {
        case 'object':
          return { ok: true, object: this.#seen(decodeObject(outcome.value)) };
        case 'status':
          return { ok: false, status: decodeJson<Status>(outcome.value) };
        case undefined:
          return { ok: false, status: StatusError.internal('a result without an outcome').toStatus() };
      }
    });
  }

  [Symbol.dispose](): void {
    this.#endpoints[Symbol.dispose]();
  }

  #fence(): { fence?: NonNullable<ReturnType<typeof encodeFence>> } {
    const fence = encodeFence(this.#options.fence?.());
    return fence === undefined ? {} : { fence };
  }

  #seen<T extends KubeObject>(object: T): T {
    this.#floor.saw(object.metadata?.resourceVersion);
    return object;
  }

  #method(name: MethodName): MethodDefinition {
    const method = this.#methods[name];
    if (method === undefined) throw StatusError.internal(`no method ${name}`);
    return method;
  }

  async #acquire(avoid: ReadonlySet<Endpoint>, signal: AbortSignal): Promise<Endpoint> {
    using deadline = withDeadline(this.#clock, signal, this.#options.deadlineMs ?? DEFAULT_DEADLINE_MS);
    try {
      return await this.#endpoints.acquire(avoid, deadline);
    } catch {
      // Aborted by the caller, whose reason is thrown, or by our own deadline, which means that no server is reachable.
      signal.throwIfAborted();
      throw this.#endpoints.unavailable();
    }
  }

  /** Sends a read until a response comes or the deadline passes. Changes the endpoint when one is lost, unavailable or slow. */
  async #read<Reply>(name: MethodName, request: Message, attemptMs: number, signal: AbortSignal): Promise<Reply> {
    const endMs = this.#clock.monotonicMs() + (this.#options.deadlineMs ?? DEFAULT_DEADLINE_MS);
    const tried = new Set<Endpoint>();
    let rounds = 0;
    for (let patienceMs = attemptMs; ; patienceMs *= 2) {
      const endpoint = await this.#acquire(tried, signal);
      tried.add(endpoint);
      const leftMs = endMs - this.#clock.monotonicMs();
      const timeoutMs = this.#endpoints.hasOther(tried) ? Math.min(leftMs, patienceMs) : leftMs;
      try {
        return await this.#call<Reply>(endpoint, name, request, timeoutMs, signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = fromFailedCall(error);
        const isWorthAnother = failure.reason === 'ServiceUnavailable' || failure.reason === 'Timeout';
        if (!isWorthAnother || this.#clock.monotonicMs() + 1 >= endMs) throw failure;
        if (!this.#endpoints.hasOther(tried)) {
          tried.clear();
          rounds += 1;
          // All endpoints have been tried. Without a pause, a server that fails at once would get requests without end.
          const pauseMs = Math.min(backoffMs(RETRY, rounds, this.#random), endMs - this.#clock.monotonicMs());
          await sleep(this.#clock, pauseMs, signal);
        }
      }
    }
  }

  async #writeOnce<Reply>(name: MethodName, request: Message, signal: AbortSignal): Promise<Reply> {
    const endMs = this.#clock.monotonicMs() + (this.#options.deadlineMs ?? DEFAULT_DEADLINE_MS);
    const tried = new Set<Endpoint>();
    for (let failures = 1; ; failures++) {
      const endpoint = await this.#acquire(tried, signal);
      tried.add(endpoint);
      try {
        return await this.#call<Reply>(endpoint, name, request, endMs - this.#clock.monotonicMs(), signal);
      } catch (error) {
        signal.throwIfAborted();
        const leftMs = endMs - this.#clock.monotonicMs();
        if (!wasNeverSent(error) || leftMs <= 0) throw unknownOrAnswered(error);
        const pauseMs = this.#endpoints.hasOther(tried) ? 0 : backoffMs(RETRY, failures, this.#random);
        await sleep(this.#clock, Math.min(leftMs, pauseMs), signal);
      }
    }
  }

  #call<Reply>(
    endpoint: Endpoint,
    name: MethodName,
    request: Message,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Reply> {
    const { path, requestSerialize, responseDeserialize } = this.#method(name);
    return new Promise<Reply>((resolve, reject) => {
      const call = endpoint.client.makeUnaryRequest<Message, Message>(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline: this.#clock.now() + Math.max(1, timeoutMs) },
        (error, reply) => {
          aborting[Symbol.dispose]();
          if (error !== null) reject(error);
          else resolve(reply as Reply);
        },
      );
      const aborting = onAbort(signal, () => call.cancel());
    });
  }
}

async function lookupAll(host: string): Promise<readonly string[]> {
  return (await dnsLookup(host, { all: true, order: 'ipv4first' })).map(({ address }) => address);
}

function methodOf(write: ObjectWrite): MethodName {
  if (write.verb === 'update' && write.subresource === 'status') return 'updateStatus';
  return write.verb;
}

/** The error of a sent write: the server's response, or an unknown outcome. */
function unknownOrAnswered(error: unknown): StatusError {
  if (isFailedCall(error) && sentStatus(error) === undefined) {
    const mayHaveLanded =
      error.code === GrpcStatus.UNAVAILABLE ||
      error.code === GrpcStatus.DEADLINE_EXCEEDED ||
      error.code === GrpcStatus.CANCELLED ||
      error.code === GrpcStatus.INTERNAL ||
      error.code === GrpcStatus.UNKNOWN;
    if (mayHaveLanded) return StatusError.timeout(`outcome unknown: ${error.details}`);
  }
  return fromFailedCall(error);
}

function decodeBatch<T extends KubeObject>(batch: WatchBatch): readonly WatchEvent<T>[] {
  const events: WatchEvent<T>[] = [];
  for (const { type, object } of batch.events) {
    if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
      events.push({ type, object: decodeObject<T>(object) });
    }
  }
  if (batch.resourceVersion !== '') {
    const { resourceVersion, initialEventsEnd } = batch;
    events.push({ type: 'BOOKMARK', resourceVersion, initialEventsEnd });
  }
  return events;
}

/** The newest resourceVersion that this process has seen. Prevents reads from returning older state. */
interface VersionFloor {
  saw(resourceVersion: string | undefined): void;
  /** The version to send for a wanted one: '0' (any version) becomes "not older than the newest seen". */
  apply(wanted: string | undefined): string;
}

function createVersionFloor(): VersionFloor {
  let newest = 0;
  return {
    saw: (resourceVersion) => {
      const version = Number(resourceVersion ?? '');
      if (Number.isSafeInteger(version) && version > newest) newest = version;
    },
    apply: (wanted = '') => (wanted === '0' && newest > 0 ? String(newest) : wanted),
  };
}

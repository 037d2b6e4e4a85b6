import { create } from '@bufbuild/protobuf';
import type { Clock } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import {
  type BatchReply,
  type BatchReply_Result,
  BatchReply_ResultSchema,
  BatchReplySchema,
  type BatchRequest,
  type GetRequest,
  type ListReply,
  ListReplySchema,
  type ListRequest,
  type ObjectReply,
  ObjectReplySchema,
  ObjectService,
  type WatchBatch,
  WatchBatchSchema,
  type WatchRequest,
  type Write,
  type WriteRequest,
} from '@gantry/proto';
import type { GrpcCall, GrpcService, Logger } from '@gantry/service';
import { userOfIdentity } from '../../auth/authn/identity.ts';
import type { User } from '../../auth/user.ts';
import { admitCall, type FlowController, widthOf } from '../../flow-control/flow-controller.ts';
import type { FlowRequest } from '../../flow-control/flow-schemas.ts';
import type { Seats } from '../../flow-control/priority-level.ts';
import type { ResourceRegistry } from '../../resource-registry.ts';
import { type StartGate, startGate } from '../../readiness.ts';
import type { Body, DeleteBody, Registry, RequestContext, Target } from '../../registry/index.ts';
import { type AuditedExchange, type AuditTrail, UNLOGGED } from '../../audit/index.ts';
import type { WatchCache } from '../../cache/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import {
  checkScope,
  decodeDeleteOptions,
  decodeFence,
  decodeResource,
  decodeTarget,
  decodeWriteOptions,
} from './decode-request.ts';
import { metadataJson, packWatch, wholeJson } from './watch-batches.ts';

export interface ObjectServiceOptions {
  readonly resourceRegistry: ResourceRegistry;
  readonly registry: Registry;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly flowControl: FlowController;
  readonly cache: WatchCache;
  readonly logger: Logger;
}

const MAX_BATCH = 1000;

/** The gRPC endpoint of the registry, for services with a client certificate. */
export function objectService(options: ObjectServiceOptions): GrpcService {
  const untilStarted = startGate(options.cache, options.clock);
  const endpoint = new ObjectEndpoint(options, untilStarted);
  const unary = <Request, Reply>(handle: (request: Request, call: GrpcCall) => Promise<Reply>) => ({
    kind: 'unary' as const,
    handle: (request: Request, call: GrpcCall): Promise<Reply> => {
      const starting = untilStarted(call.signal);
      return starting === undefined ? handle(request, call) : starting.then(() => handle(request, call));
    },
  });
  const write = unary((request: WriteRequest, call) => endpoint.write(request, call));
  return {
    descriptor: ObjectService,
    handlers: {
      get: unary((request: GetRequest, call) => endpoint.get(request, call)),
      list: unary((request: ListRequest, call) => endpoint.list(request, call)),
      watch: { kind: 'stream', handle: (request: WatchRequest, call: GrpcCall) => endpoint.watch(request, call) },
      create: write,
      update: write,
      updateStatus: write,
      patch: write,
      delete: write,
      batch: unary((request: BatchRequest, call) => endpoint.batch(request, call)),
    },
  };
}

class ObjectEndpoint {
  readonly #registry: Registry;
  readonly #resourceRegistry: ResourceRegistry;
  readonly #audit: AuditTrail;
  readonly #clock: Clock;
  readonly #flowControl: FlowController;
  readonly #untilStarted: StartGate;
  readonly #logger: Logger;

  constructor(
    { registry, resourceRegistry, audit, clock, flowControl, logger }: ObjectServiceOptions,
    untilStarted: StartGate,
  ) {
    this.#untilStarted = untilStarted;
    this.#flowControl = flowControl;
    this.#resourceRegistry = resourceRegistry;
    this.#registry = registry;
    this.#audit = audit;
    this.#clock = clock;
    this.#logger = logger;
  }

  async get(request: GetRequest, call: GrpcCall): Promise<ObjectReply> {
    const definition = decodeResource(request.resource, this.#resourceRegistry);
    checkScope(definition, request.namespace);
    const { namespace, name, subresource, resourceVersion } = request;
    const target = { definition, namespace, name, subresource };
    return await this.#audited(call, undefined, { verb: 'get', ...target }, async (context) =>
      reply(await this.#registry.get(context, target, resourceVersion)),
    );
  }

  async list(request: ListRequest, call: GrpcCall): Promise<ListReply> {
    const definition = decodeResource(request.resource, this.#resourceRegistry);
    const { namespace, labelSelector, fieldSelector, resourceVersion, continueToken } = request;
    const target = { verb: 'list', definition, namespace, name: '', subresource: '' };
    const response = await this.#audited(call, undefined, target, (context) =>
      this.#registry.list(context, definition, {
        namespace,
        labelSelector,
        fieldSelector,
        resourceVersion,
        resourceVersionMatch: decodeMatch(request.resourceVersionMatch),
        limit: Number(request.limit),
        continueToken,
      }),
    );
    return create(ListReplySchema, {
      objects: response.items.map(request.metadataOnly ? metadataJson : wholeJson),
      resourceVersion: String(response.resourceVersion),
      continueToken: response.continueToken,
    });
  }

  async *watch(request: WatchRequest, call: GrpcCall): AsyncIterable<WatchBatch | Uint8Array> {
    await this.#untilStarted(call.signal);
    const definition = decodeResource(request.resource, this.#resourceRegistry);
    const { namespace, labelSelector, fieldSelector, resourceVersion, sendInitialEvents } = request;
    const target = { verb: 'watch', definition, namespace, name: '', subresource: '' };
    // Only the start of the watch is in the audit log, not its end.
    const items = await this.#audited(call, undefined, target, (context) =>
      this.#registry.watch(context, definition, {
        namespace,
        labelSelector,
        fieldSelector,
        resourceVersion,
        resourceVersionMatch: sendInitialEvents ? 'NotOlderThan' : '',
        sendInitialEvents: sendInitialEvents ? true : undefined,
        allowBookmarks: true,
      }),
    );
    // Empty: tells the client that the watch is open.
    yield create(WatchBatchSchema);
    yield* packWatch(items, request.metadataOnly ? 'metadata' : 'whole');
  }

  async write(request: WriteRequest, call: GrpcCall): Promise<ObjectReply> {
    if (request.write === undefined) throw StatusError.badRequest('write is missing');
    return reply(await this.#one(request.write, call, decodeFence(request.fence)));
  }

  async batch(request: BatchRequest, call: GrpcCall): Promise<BatchReply> {
    if (request.writes.length > MAX_BATCH) {
      throw new StatusError('RequestEntityTooLarge', `a batch holds at most ${MAX_BATCH} writes`);
    }
    const fence = decodeFence(request.fence);
    const [first] = request.writes;
    // All writes of a batch share the same seats. The first write determines the flow schema.
    using _seats =
      first === undefined
        ? undefined
        : await this.#admit(
            call,
            {
              verb: first.verb,
              group: first.resource?.group ?? '',
              resource: first.resource?.resource ?? '',
              subresource: first.subresource,
              namespace: first.namespace,
            },
            widthOf(request.writes.length),
          );
    const results = await Promise.all(request.writes.map((write) => this.#result(write, call, fence)));
    return create(BatchReplySchema, { results });
  }

  async #result(write: Write, call: GrpcCall, fence: RequestContext['fence']): Promise<BatchReply_Result> {
    try {
      const response = await this.#one(write, call, fence, 'of-batch');
      return create(BatchReply_ResultSchema, { outcome: { case: 'object', value: response.json() } });
    } catch (error) {
      if (!(error instanceof StatusError)) this.#logger.error({ err: error }, 'a write of a batch failed');
      const failure = error instanceof StatusError ? error : StatusError.internal(errorMessage(error));
      const value = Buffer.from(JSON.stringify(failure.toStatus()));
      return create(BatchReply_ResultSchema, { outcome: { case: 'status', value } });
    }
  }

  #one(
    write: Write,
    call: GrpcCall,
    fence: RequestContext['fence'],
    seats: 'own' | 'of-batch' = 'own',
  ): Promise<ObjectResponse> {
    const target = decodeTarget(write, this.#resourceRegistry);
    const serve = async (context: RequestContext, audit: AuditedExchange): Promise<ObjectResponse> => {
      audit.sent('application/json', write.body);
      const response = await this.#carryOut(write, target, context);
      audit.returned('application/json', response.json());
      return response;
    };
    return this.#audited(call, fence, { verb: write.verb, ...target }, serve, seats);
  }

  async #carryOut(write: Write, target: Target, context: RequestContext): Promise<ObjectResponse> {
    const options = decodeWriteOptions(write);
    const read = () => Promise.resolve(write.body);
    const body: Body = { mediaType: 'application/json', read };
    switch (write.verb) {
      case 'create':
        return this.#registry.create(context, target, body, options);
      case 'update':
        return (await this.#registry.update(context, target, body, options)).response;
      case 'patch':
        return (await this.#registry.patch(context, target, { type: write.patchType, read }, options)).response;
      case 'delete':
        return (await this.#registry.delete(context, target, deleteBodyOf(write))).response;
      default:
        throw StatusError.badRequest(`verb ${JSON.stringify(write.verb)} is not one of create, update, patch, delete`);
    }
  }

  /** Waits for seats of flow control. They are released at the end of the scope. */
  #admit(
    call: GrpcCall,
    about: Omit<Extract<FlowRequest, { kind: 'resource' }>, 'kind' | 'user'>,
    width: number,
  ): Promise<Seats> {
    return admitCall(this.#flowControl, { kind: 'resource', user: userOf(call), ...about }, width, call.signal);
  }

  /** Serves a request with flow control and audit events. */
  async #audited<T>(
    call: GrpcCall,
    fence: RequestContext['fence'],
    { verb, definition, namespace, name, subresource }: Target & { readonly verb: string },
    serve: (context: RequestContext, audit: AuditedExchange) => Promise<T>,
    seats: 'own' | 'of-batch' = 'own',
  ): Promise<T> {
    const user = userOf(call);
    const { group, version, resource } = definition;
    const { concernsReads, newId } = this.#audit;
    const isRead = verb === 'get' || verb === 'list' || verb === 'watch';
    const audit =
      isRead && !concernsReads
        ? UNLOGGED
        : this.#audit.begin({
            request: { kind: 'resource', verb, group, version, resource, subresource, namespace, name },
            auditId: newId(),
            requestUri: pathOf({
              definition,
              namespace,
              subresource,
              name: verb === 'create' && subresource === '' ? '' : name,
            }),
            user,
            impersonated: undefined,
            sourceIps: [],
            userAgent: call.header('user-agent') ?? '',
            receivedAt: this.#clock.now(),
          });
    const warn = (text: string): void => this.#logger.debug({ warning: text }, 'a request was answered with a warning');
    try {
      using _seats =
        seats === 'own' ? await this.#admit(call, { verb, group, resource, subresource, namespace }, 1) : undefined;
      const result = await serve({ user, signal: call.signal, fence, warn, warnings: 'unread', audit }, audit);
      audit.completed(verb === 'create' ? 201 : 200);
      return result;
    } catch (error) {
      const status = error instanceof StatusError ? error : StatusError.internal(errorMessage(error));
      audit.completed(status.code, status.toStatus());
      throw error;
    }
  }
}

/** Throws Unauthorized for a call without a client certificate. */
function userOf({ identity }: GrpcCall): User {
  if (identity === undefined) throw StatusError.unauthorized();
  return userOfIdentity(identity.commonName, identity.organizations, identity.organizationalUnits);
}

/** The options of a delete. They are decoded after authorisation. */
function deleteBodyOf({ body, dryRun }: Write): DeleteBody {
  return { read: async () => ({ options: decodeDeleteOptions(body), dryRun }) };
}

/** The REST path of the target. */
function pathOf({ definition, namespace, name, subresource }: Target): string {
  const { group, version, resource } = definition;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespace === '' ? '' : `/namespaces/${namespace}`;
  return [`${root}${place}/${resource}`, name, subresource].filter((part) => part !== '').join('/');
}

function reply(response: ObjectResponse): ObjectReply {
  return create(ObjectReplySchema, { object: response.json() });
}

function decodeMatch(text: string): '' | 'Exact' | 'NotOlderThan' {
  if (text === '' || text === 'Exact' || text === 'NotOlderThan') return text;
  throw StatusError.badRequest(`resourceVersionMatch: ${JSON.stringify(text)} is not supported`);
}

import { create } from '@bufbuild/protobuf';
import { StatusError } from '@gantry/api';
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
  type WatchRequest,
  type Write,
  type WriteRequest,
} from '@gantry/proto';
import type { GrpcCall, GrpcService, Logger } from '@gantry/service';
import { userOfIdentity } from '../auth/identity.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Answer, Body, Driver, RequestContext } from '../driver.ts';
import {
  checkScope,
  decodeDeleteOptions,
  decodeFence,
  decodeResource,
  decodeTarget,
  decodeWriteOptions,
} from './decode-request.ts';
import { metadataJson, wholeJson } from './object-json.ts';
import { packWatch } from './watch-batches.ts';

export interface ObjectServiceOptions {
  readonly catalogue: Catalogue;
  readonly driver: Driver;
  readonly logger: Logger;
}

const MAX_BATCH = 1000;

/** The gRPC door: the same driver as REST, for services that show a client certificate. */
export function objectService(options: ObjectServiceOptions): GrpcService {
  const door = new ObjectDoor(options);
  const write = {
    kind: 'unary',
    handle: (request: WriteRequest, call: GrpcCall) => door.write(request, call),
  } as const;
  return {
    descriptor: ObjectService,
    handlers: {
      get: { kind: 'unary', handle: (request: GetRequest, call: GrpcCall) => door.get(request, call) },
      list: { kind: 'unary', handle: (request: ListRequest, call: GrpcCall) => door.list(request, call) },
      watch: { kind: 'stream', handle: (request: WatchRequest, call: GrpcCall) => door.watch(request, call) },
      create: write,
      update: write,
      updateStatus: write,
      patch: write,
      delete: write,
      batch: { kind: 'unary', handle: (request: BatchRequest, call: GrpcCall) => door.batch(request, call) },
    },
  };
}

class ObjectDoor {
  readonly #driver: Driver;
  readonly #catalogue: Catalogue;
  readonly #logger: Logger;

  constructor({ driver, catalogue, logger }: ObjectServiceOptions) {
    this.#catalogue = catalogue;
    this.#driver = driver;
    this.#logger = logger;
  }

  async get(request: GetRequest, call: GrpcCall): Promise<ObjectReply> {
    const definition = decodeResource(request.resource, this.#catalogue);
    checkScope(definition, request.namespace);
    const { namespace, name, subresource, resourceVersion } = request;
    const target = { definition, namespace, name, subresource };
    return reply(await this.#driver.get(this.#context(call, undefined), target, resourceVersion));
  }

  async list(request: ListRequest, call: GrpcCall): Promise<ListReply> {
    const definition = decodeResource(request.resource, this.#catalogue);
    const { namespace, labelSelector, fieldSelector, resourceVersion, continueToken } = request;
    const answer = await this.#driver.list(this.#context(call, undefined), definition, {
      namespace,
      labelSelector,
      fieldSelector,
      resourceVersion,
      resourceVersionMatch: decodeMatch(request.resourceVersionMatch),
      limit: Number(request.limit),
      continueToken,
    });
    return create(ListReplySchema, {
      objects: answer.items.map(request.metadataOnly ? metadataJson : wholeJson),
      resourceVersion: String(answer.resourceVersion),
      continueToken: answer.continueToken,
    });
  }

  async *watch(request: WatchRequest, call: GrpcCall): AsyncIterable<WatchBatch> {
    const definition = decodeResource(request.resource, this.#catalogue);
    const { namespace, labelSelector, fieldSelector, resourceVersion, sendInitialEvents } = request;
    const items = await this.#driver.watch(this.#context(call, undefined), definition, {
      namespace,
      labelSelector,
      fieldSelector,
      resourceVersion,
      resourceVersionMatch: sendInitialEvents ? 'NotOlderThan' : '',
      sendInitialEvents: sendInitialEvents ? true : undefined,
      allowBookmarks: true,
    });
    yield* packWatch(items, request.metadataOnly ? metadataJson : wholeJson);
  }

  async write(request: WriteRequest, call: GrpcCall): Promise<ObjectReply> {
    if (request.write === undefined) throw StatusError.badRequest('write is missing');
    return reply(await this.#one(request.write, this.#context(call, decodeFence(request.fence))));
  }

  async batch(request: BatchRequest, call: GrpcCall): Promise<BatchReply> {
    if (request.writes.length > MAX_BATCH) {
      throw new StatusError('RequestEntityTooLarge', `a batch holds at most ${MAX_BATCH} writes`);
    }
    const context = this.#context(call, decodeFence(request.fence));
    const results = await Promise.all(request.writes.map((write) => this.#result(write, context)));
    return create(BatchReplySchema, { results });
  }

  async #result(write: Write, context: RequestContext): Promise<BatchReply_Result> {
    try {
      const answer = await this.#one(write, context);
      return create(BatchReply_ResultSchema, { outcome: { case: 'object', value: answer.json() } });
    } catch (error) {
      if (!(error instanceof StatusError)) this.#logger.error({ err: error }, 'a write of a batch failed');
      const failure = error instanceof StatusError ? error : StatusError.internal(errorMessage(error));
      const value = Buffer.from(JSON.stringify(failure.toStatus()));
      return create(BatchReply_ResultSchema, { outcome: { case: 'status', value } });
    }
  }

  async #one(write: Write, context: RequestContext): Promise<Answer> {
    const target = decodeTarget(write, this.#catalogue);
    const options = decodeWriteOptions(write);
    const body: Body = { bytes: write.body, mediaType: 'application/json' };
    switch (write.verb) {
      case 'create':
        return this.#driver.create(context, target, body, options);
      case 'update':
        return (await this.#driver.update(context, target, body, options)).answer;
      case 'patch':
        return (await this.#driver.patch(context, target, write.body, write.patchType, options)).answer;
      case 'delete':
        return (await this.#driver.delete(context, target, decodeDeleteOptions(write.body), options)).answer;
      default:
        throw StatusError.badRequest(`verb ${JSON.stringify(write.verb)} is not one of create, update, patch, delete`);
    }
  }

  #context(call: GrpcCall, fence: RequestContext['fence']): RequestContext {
    if (call.identity === undefined) throw StatusError.unauthorized();
    return {
      user: userOfIdentity(call.identity.commonName, call.identity.organizations),
      signal: call.signal,
      fence,
      warn: (text) => this.#logger.debug({ warning: text }, 'a request was answered with a warning'),
    };
  }
}

function reply(answer: Answer): ObjectReply {
  return create(ObjectReplySchema, { object: answer.json() });
}

function decodeMatch(text: string): '' | 'Exact' | 'NotOlderThan' {
  if (text === '' || text === 'Exact' || text === 'NotOlderThan') return text;
  throw StatusError.badRequest(`resourceVersionMatch: ${JSON.stringify(text)} is not supported`);
}

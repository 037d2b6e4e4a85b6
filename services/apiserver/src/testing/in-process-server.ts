import { must } from '@gantry/base';
import type { ManualClock } from '@gantry/base/testing';
import {
  createObjectClient,
  type Fence,
  type ObjectClient,
  type ObjectWrite,
  type PatchType,
  type SubresourceKey,
  type WatchEvent,
  writeResult,
} from '@gantry/client';
import type { MemoryEtcd } from '@gantry/etcd/testing';
import { customDefinitions } from '@gantry/custom-resources';
import { resources } from '@gantry/kinds';
import {
  type CustomResourceDefinition,
  type GroupResource,
  type KubeObject,
  type Resource,
  StatusError,
} from '@gantry/objects';
import type { User } from '../auth/user.ts';
import { resourcePrefix } from '../cache/index.ts';
import { convertByWebhook } from '../custom-resources/convert-by-webhook.ts';
import type { WebhookCaller } from '../webhooks/index.ts';
import type { ObjectResponse } from '../cache/object-response.ts';
import { ensureIncarnation } from '../incarnation.ts';
import type { DeleteBody, RequestContext, Target, WriteOptions } from '../registry/index.ts';
import { ADMIN, createHarness, type Harness, jsonBody } from './harness.ts';
import { resourceRootOf } from '../storage/keys.ts';

/** A user of an `InProcessServer`. */
export interface InProcessUser {
  readonly fieldManager: string;
  /** Defaults to the administrator. */
  readonly user?: User;
  /** The leader's fence of every write. Writes have no fence by default. */
  readonly fence?: () => Fence | undefined;
}

/** One change of the store. */
export interface StoredChange {
  readonly resource: GroupResource;
  /** `namespace/name`, or the name alone for cluster scope. */
  readonly name: string;
  readonly resourceVersion: number;
  /** Undefined after a deletion. The object is shared, so callers must not change it. */
  readonly object: KubeObject | undefined;
}

/**
 * The registry with its write pipeline, watch cache and store. It uses a model of etcd and a manual clock, and no socket. The same
 * requests in the same order give the same revisions. Rights are not checked. The namespaces `default` and `n` exist at the start.
 */
export interface InProcessServer {
  readonly clock: ManualClock;
  readonly etcd: MemoryEtcd;
  /** The incarnation of the store, for fences. */
  readonly incarnation: string;
  client(user: InProcessUser): ObjectClient;
  /** Reads a subresource as administrator. */
  readSubresource(resource: Resource, key: SubresourceKey, signal: AbortSignal): Promise<KubeObject>;
  /** All changes after a revision, in the order of the store. */
  changes(revision: number, signal: AbortSignal): AsyncIterable<readonly StoredChange[]>;
  stop(): Promise<void>;
}

/**
 * Starts a server. `seed` determines the suffixes of generated names. `kinds` are served from the beginning, without their definitions as
 * objects. `webhookCaller` calls webhooks, also for conversions of `kinds`.
 */
export async function startInProcessServer(
  seed = 1,
  kinds: readonly CustomResourceDefinition[] = [],
  webhookCaller?: WebhookCaller,
): Promise<InProcessServer> {
  let reviews = 0;
  const newReview = () => `review-${++reviews}`;
  const hooksOf = (crd: CustomResourceDefinition) =>
    webhookCaller === undefined || crd.spec.conversion?.strategy !== 'Webhook'
      ? {}
      : { convert: convertByWebhook(crd, { caller: webhookCaller, newUid: newReview }) };
  const definitions = [...resources, ...kinds.flatMap((crd) => customDefinitions(crd, hooksOf(crd)))];
  const harness = await createHarness({ seed, definitions, ...(webhookCaller === undefined ? {} : { webhookCaller }) });
  const { clock, store } = harness;
  const newUid = () => 'the incarnation';
  const incarnation = await harness.settle(ensureIncarnation(store.etcd, newUid, new AbortController().signal));
  return {
    clock,
    etcd: store.etcd,
    incarnation,
    client: (user) => createRegistryClient(harness, user),
    readSubresource: async (resource, { subresource, ...key }, signal) => {
      const context = harness.context({ user: ADMIN, signal, fence: undefined });
      return copyOf(await harness.registry.get(context, targetOf(harness, resource, key, subresource), ''));
    },
    changes: (revision, signal) => changesOf(harness, revision, signal),
    stop: () => harness.stop(),
  };
}

async function* changesOf(
  { store, deps }: Harness,
  revision: number,
  signal: AbortSignal,
): AsyncIterable<readonly StoredChange[]> {
  // Of the two groups that share Events, the first.
  const definitions = deps.resourceRegistry.definitions.toReversed();
  const roots = new Map<string, GroupResource>(definitions.map((of) => [resourcePrefix(of), of]));
  for await (const item of store.watch(revision, signal)) {
    if (item.kind !== 'events') continue;
    yield item.events.map((event) => {
      const root = resourceRootOf(event.key);
      return {
        resource: must(roots.get(root), root),
        name: event.key.slice(root.length),
        resourceVersion: event.resourceVersion,
        object: event.kind === 'put' ? (event.object as KubeObject) : undefined,
      };
    });
  }
}

/** A client that calls the registry directly. It returns copies. */
function createRegistryClient(harness: Harness, who: InProcessUser): ObjectClient {
  const { registry } = harness;
  const contextOf = (signal: AbortSignal, fence: RequestContext['fence'] = who.fence?.()): RequestContext =>
    harness.context({ user: who.user ?? ADMIN, signal, fence });
  const write = (sent: ObjectWrite, signal: AbortSignal): Promise<KubeObject> =>
    carryOut(harness, sent, who.fieldManager, contextOf(signal, sent.fence));
  return createObjectClient({
    get: async <T extends KubeObject>(
      resource: Resource<T>,
      key: { namespace: string; name: string },
      signal: AbortSignal,
    ) => copyOf(await registry.get(contextOf(signal), targetOf(harness, resource, key), '')) as T,
    list: async (resource, options, signal) => {
      const { definition } = targetOf(harness, resource, { namespace: '', name: '' });
      const { metadataOnly, namespace = '', labelSelector = '', fieldSelector = '' } = options;
      const { resourceVersion = '', limit = 0, continueToken = '' } = options;
      const selection = { namespace, labelSelector, fieldSelector, resourceVersion, limit, continueToken };
      const list = await registry.list(contextOf(signal), definition, { ...selection, resourceVersionMatch: '' });
      return {
        items: list.items.map((response) => shapeOf(response, metadataOnly) as never),
        resourceVersion: String(list.resourceVersion),
        continueToken: list.continueToken,
      };
    },
    watch: async function* <T extends KubeObject>(
      resource: Resource<T>,
      options: Parameters<ObjectClient['watch']>[1],
      signal: AbortSignal,
    ): AsyncIterable<readonly WatchEvent<T>[]> {
      const { definition } = targetOf(harness, resource, { namespace: '', name: '' });
      const { metadataOnly, sendInitialEvents, namespace = '', labelSelector = '', fieldSelector = '' } = options;
      const batches = await registry.watch(contextOf(signal), definition, {
        namespace,
        labelSelector,
        fieldSelector,
        resourceVersion: options.resourceVersion ?? '',
        resourceVersionMatch: sendInitialEvents === true ? 'NotOlderThan' : '',
        sendInitialEvents,
        allowBookmarks: true,
      });
      yield [];
      for await (const batch of batches) {
        yield batch.map((item) =>
          item.type === 'BOOKMARK'
            ? { ...item, resourceVersion: String(item.resourceVersion) }
            : { type: item.type, object: shapeOf(item.response, metadataOnly) as T },
        );
      }
      signal.throwIfAborted();
      throw StatusError.unavailable('the server ended the watch');
    },
    write,
    batch: (writes, signal) => Promise.all(writes.map((one) => writeResult(write(one, signal)))),
  });
}

async function carryOut(
  harness: Harness,
  write: ObjectWrite,
  fieldManager: string,
  context: RequestContext,
): Promise<KubeObject> {
  const { registry } = harness;
  const options: WriteOptions = { dryRun: false, fieldManager, fieldValidation: 'Strict' };
  switch (write.verb) {
    case 'create': {
      const key = { namespace: write.namespace, name: write.name ?? write.object.metadata.name ?? '' };
      const target = targetOf(harness, write.resource, key, write.subresource);
      return copyOf(await registry.create(context, target, jsonBody(write.object), options));
    }
    case 'update': {
      const target = targetOf(harness, write.resource, write.key, write.subresource);
      return copyOf((await registry.update(context, target, jsonBody(write.object), options)).response);
    }
    case 'patch': {
      const target = targetOf(harness, write.resource, write.key, write.subresource);
      const read = () => Promise.resolve(Buffer.from(JSON.stringify(write.patch)));
      const isApply = write.patchType === ('application/apply-patch+yaml' satisfies PatchType);
      const how = { ...options, fieldManager: write.fieldManager ?? fieldManager, ...(isApply ? { force: true } : {}) };
      return copyOf((await registry.patch(context, target, { type: write.patchType, read }, how)).response);
    }
    case 'delete': {
      const target = targetOf(harness, write.resource, write.key);
      return copyOf((await registry.delete(context, target, deletion(write))).response);
    }
  }
}

function deletion({ options = {} }: Extract<ObjectWrite, { verb: 'delete' }>): DeleteBody {
  const { gracePeriodSeconds, propagationPolicy, preconditions = {} } = options;
  return {
    read: async () => ({
      options: { gracePeriodSeconds, propagationPolicy, preconditions, orphanDependents: undefined },
      dryRun: false,
    }),
  };
}

function targetOf(
  { deps }: Harness,
  resource: Resource,
  { namespace, name }: { namespace: string; name: string },
  subresource = '',
): Target {
  const definition = must(deps.resourceRegistry.find(resource), resource.resource);
  return { definition, namespace, name, subresource };
}

function copyOf(response: ObjectResponse): KubeObject {
  return JSON.parse(Buffer.from(response.json()).toString('utf8')) as KubeObject;
}

function shapeOf(response: ObjectResponse, metadataOnly = false): KubeObject {
  const object = copyOf(response);
  if (!metadataOnly) return object;
  const { managedFields: _managed, ...metadata } = object.metadata;
  return { apiVersion: object.apiVersion, kind: object.kind, metadata };
}

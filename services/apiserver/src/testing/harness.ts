import type { ResourceDefinition } from '@gantry/apimachinery';
import { findResource, NO_POD_SECURITY_EXEMPTIONS, type PodSecurityExemptions, resources } from '@gantry/kinds';
import { type KubeObject, StatusError } from '@gantry/objects';
import { AssertionError, must, type Random, seededRandom } from '@gantry/base';
import { Turns } from '../turns.ts';
import { ManualClock } from '@gantry/base/testing';
import { NOT_AUDITED } from '../audit/index.ts';
import { WatchCache } from '../cache/index.ts';
import { ResourceRegistry } from '../resource-registry.ts';
import {
  jsonBody,
  type Patch,
  type Registry,
  type RequestContext,
  type Target,
  type WriteOptions,
} from '../registry/contract/registry.ts';
import type { User } from '../auth/user.ts';
import { createMemoryObjectStore, type MemoryObjectStore } from '../storage/testing/memory-store.ts';
import { cachedServices, createWebhookCaller, type WebhookCaller } from '../webhooks/index.ts';
import { createRegistry } from '../registry/create-registry.ts';
import { createCacheLookup } from '../auth/authz/cache-lookup.ts';
import type { RegistryDependencies } from '../registry/contract/dependencies.ts';
import { encodeProtobuf } from '../registry/objects/response-of.ts';

export { jsonBody };

/** The default user of requests. */
export const ADMIN: User = { name: 'kubernetes-admin', uid: '', groups: ['system:masters'], extra: {} };

/** An authorizer that allows everything, for tests that are not about rights. */
export const allowAll: RegistryDependencies['authorizer'] = {
  authorize: () => undefined,
  decide: () => ({ allowed: true, reason: '' }),
  decidePath: () => ({ allowed: true, reason: '' }),
};

/** The core of one apiserver: registry and cache, with a store in memory and a manual clock. */
export interface Harness {
  readonly registry: Registry;
  readonly deps: RegistryDependencies;
  readonly store: MemoryObjectStore;
  readonly clock: ManualClock;
  readonly warnings: string[];
  context(overrides?: Partial<RequestContext>): RequestContext;
  target(resource: string, name: string, options?: { namespace?: string; subresource?: string }): Target;
  create(resource: string, object: object, options?: Partial<WriteOptions>): Promise<KubeObject>;
  /** Runs work that waits for timers: advances the clock until the work settles. */
  settle<T>(work: Promise<T>): Promise<T>;
  /** The error of work that must fail. */
  failure(work: Promise<unknown>): Promise<StatusError>;
  stop(): Promise<void>;
}

export const WRITE: WriteOptions = { dryRun: false, fieldManager: 'test', fieldValidation: 'Strict' };

/** A patch with the media type `type`. */
export function patchBody(type: string, bytes: Uint8Array): Patch {
  return { type, read: () => Promise.resolve(bytes) };
}

/** The definition of a resource by plural name, in any group. */
export function definitionOf(resource: string): ResourceDefinition {
  return must(
    resources.find((one) => one.resource === resource) ?? findResource({ group: '', version: 'v1', resource }),
    resource,
  );
}

export interface HarnessOptions {
  readonly etcd?: MemoryObjectStore['etcd'];
  readonly seed?: number;
  readonly turns?: Turns;
  readonly resourceRegistry?: ResourceRegistry;
  /** All resources, of the cache too; those of @gantry/kinds when absent. */
  readonly definitions?: readonly ResourceDefinition[];
  readonly podSecurityExemptions?: PodSecurityExemptions;
  /** Calls webhooks over HTTPS when absent. */
  readonly webhookCaller?: WebhookCaller;
}

/** Creates a harness with the namespaces `default` and `n`. Several may share one etcd. */
export async function createHarness(options: HarnessOptions = {}): Promise<Harness> {
  const clock = new ManualClock();
  const random = seededRandom(options.seed ?? 7);
  const store = createMemoryObjectStore({ clock, random, etcd: options.etcd });
  const stopping = new AbortController();
  const cache = new WatchCache({
    store,
    clock,
    random,
    definitions: options.definitions ?? resources,
    encodeProtobuf,
    onError: () => undefined,
  });
  const running = cache.run(stopping.signal);
  const deps = dependenciesOf({ store, cache, clock, random }, options);
  const registry = createRegistry(deps);
  const warnings: string[] = [];
  const harness: Harness = {
    registry,
    deps,
    store,
    clock,
    warnings,
    context: (overrides = {}) => ({
      user: ADMIN,
      signal: new AbortController().signal,
      fence: undefined,
      warn: (text) => warnings.push(text),
      audit: NOT_AUDITED,
      ...overrides,
    }),
    target: (resource, name, { namespace, subresource = '' } = {}) => {
      const definition = definitionOf(resource);
      return { definition, namespace: namespace ?? (definition.namespaced ? 'n' : ''), name, subresource };
    },
    create: async (resource, object, overrides = {}) => {
      const target = harness.target(resource, '');
      const work = registry.create(harness.context(), target, jsonBody(object), { ...WRITE, ...overrides });
      return (await harness.settle(work)).object;
    },
    settle: (work) => settle(clock, work),
    failure: async (work) => {
      const error = await settle(clock, work).catch((reason: unknown) => reason);
      if (error instanceof StatusError) return error;
      throw new AssertionError(`not a StatusError: ${String(error)}`);
    },
    stop: async () => {
      stopping.abort();
      await clock.advance(1000);
      await running;
    },
  };
  await harness.settle(cache.whenReady(new AbortController().signal));
  for (const name of ['default', 'n']) {
    const body = jsonBody({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const work = registry.create(harness.context(), harness.target('namespaces', ''), body, WRITE);
    await harness.settle(work.catch((error: unknown) => error));
  }
  return harness;
}

/** Dependencies that allow everything and call nothing outside the process. */
function dependenciesOf(
  parts: {
    readonly store: MemoryObjectStore;
    readonly cache: WatchCache;
    readonly clock: ManualClock;
    readonly random: Random;
  },
  options: HarnessOptions,
): RegistryDependencies {
  const { store, cache, clock, random } = parts;
  let uids = 0;
  return {
    resourceRegistry: options.resourceRegistry ?? new ResourceRegistry(options.definitions ?? resources),
    store,
    cache,
    clock,
    turns: options.turns ?? new Turns(clock),
    random,
    newUid: () => `00000000-0000-4000-8000-${String(++uids + (options.seed ?? 0) * 1000).padStart(12, '0')}`,
    authorizer: allowAll,
    lookup: createCacheLookup(cache, clock),
    escalationCheck: { check: () => undefined },
    reviewer: { review: () => Promise.resolve() },
    storeHealth: () => Promise.resolve([]),
    usage: { read: () => Promise.resolve(new Map()) },
    tokenIssuer: namingIssuer(clock),
    webhookCaller: options.webhookCaller ?? createWebhookCaller({ objects: cachedServices(cache), clock, random }),
    settings: {
      serviceCidr: '10.96.0.0/16',
      defaultTolerationSeconds: 5,
      podSecurityExemptions: options.podSecurityExemptions ?? NO_POD_SECURITY_EXEMPTIONS,
    },
  };
}

/** Issues unsigned tokens that contain the name of the service account. */
function namingIssuer(clock: ManualClock): RegistryDependencies['tokenIssuer'] {
  return {
    issue: ({ serviceAccount, expirationSeconds }) =>
      Promise.resolve({
        token: `token of ${serviceAccount.namespace}/${serviceAccount.name}`,
        expirationTimestamp: new Date(clock.now() + expirationSeconds * 1000).toISOString(),
      }),
  };
}

async function settle<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let done = false;
  const finished = () => {
    done = true;
  };
  work.then(finished, finished);
  for (let i = 0; i < 10_000; i++) {
    await clock.advance(0);
    if (done) break;
    await clock.advance(1);
  }
  return work;
}

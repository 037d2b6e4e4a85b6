import { type ResourceDefinition, findManagedFieldsProblem } from '@gantry/apimachinery';
import { type JsonObject, type KubeObject, type ObjectMeta, type ResourceRef, parseApiVersion } from '@gantry/objects';
import {
  type AdmissionCheck,
  type AdmissionReader,
  type AdmissionRequest,
  Reinvocation,
  type ServedResources,
} from '../../admission/index.ts';
import type { RequestContext, Target, WriteOptions } from '../contract/registry.ts';
import { createEntry, type Entry, objectKey } from '../../cache/index.ts';
import type { RegistryDependencies } from '../contract/dependencies.ts';
import { encodeProtobuf } from '../objects/response-of.ts';
import type { WrittenRevision } from './written-revision.ts';
import { fromStore } from '../../storage/store-errors.ts';

/** How long a request waits until the cache has reached the writes of this process. */
const OWN_WRITES_MS = 1000;

/** The objects that the checks of one request have looked up. Each is read once, so that all checks see the same state. */
export class Lookups implements AdmissionReader {
  readonly served: ServedResources;
  readonly #deps: RegistryDependencies;
  readonly #signal: AbortSignal;
  readonly #written: WrittenRevision;
  readonly #seen = new Map<string, Entry | undefined>();

  constructor(deps: RegistryDependencies, signal: AbortSignal, written: WrittenRevision) {
    this.#deps = deps;
    this.served = deps.resourceRegistry;
    this.#written = written;
    this.#signal = signal;
  }

  async find<T extends KubeObject>(resource: ResourceRef, namespace: string, name: string): Promise<T | undefined> {
    const definition = this.#deps.resourceRegistry.find(resource);
    if (definition === undefined) return undefined;
    const key = objectKey(definition, namespace, name);
    if (!this.#seen.has(key)) {
      const { cache } = this.#deps;
      const { newest } = this.#written;
      if (cache.ready && newest > cache.revision) await cache.reach(newest, OWN_WRITES_MS, this.#signal);
      const cached = cache.ready ? cache.resource(definition).get(key) : undefined;
      if (cached === undefined) await this.readAgain(key);
      else this.#seen.set(key, cached);
    }
    return this.#shown(definition, this.#seen.get(key));
  }

  async findFresh<T extends KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<T | undefined> {
    const definition = this.#deps.resourceRegistry.find(resource);
    if (definition === undefined) return undefined;
    return this.#shown(definition, await this.readAgain(objectKey(definition, namespace, name)));
  }

  async #shown<T extends KubeObject>(definition: ResourceDefinition, entry: Entry | undefined): Promise<T | undefined> {
    if (entry === undefined) return undefined;
    const view = this.#deps.cache.view(definition);
    if (view.remote) await view.prepare([entry]);
    return view.entry(entry).response.object as T;
  }

  async list<T extends KubeObject = KubeObject>(resource: ResourceRef, namespace: string): Promise<readonly T[]> {
    const definition = this.#deps.resourceRegistry.find(resource);
    if (definition === undefined) return [];
    const { cache } = this.#deps;
    const { newest } = this.#written;
    // Before the first list, no quota, limit, policy and webhook is known: without this, a write would be admitted as if there were none.
    if (!cache.ready) await cache.whenReady(this.#signal);
    if (newest > cache.revision) await cache.reach(newest, OWN_WRITES_MS, this.#signal);
    const view = cache.view(definition);
    const entries = cache.resource(definition).candidates({ namespace, matches: () => true, selectsAll: true });
    if (entries.length === 0) return [];
    if (view.remote) await view.prepare(entries);
    return entries.map((entry) => view.entry(entry).response.object as T);
  }

  /** The object that was looked up at a key; undefined if there was none. */
  seen(key: string): Entry | undefined {
    return this.#seen.get(key);
  }

  /** Reads the object from the store and keeps it for later lookups. */
  async readAgain(key: string): Promise<Entry | undefined> {
    const stored = await fromStore(this.#deps.store.get(key, this.#signal));
    const entry = stored === null ? undefined : createEntry(stored, encodeProtobuf);
    this.#seen.set(key, entry);
    return entry;
  }
}

/** The input of an AdmissionRequest. */
export interface Asked {
  readonly context: RequestContext;
  readonly target: Target;
  readonly operation: AdmissionRequest['operation'];
  /** The kind of `object`, if it differs from the target's kind. */
  readonly kind?: AdmissionRequest['kind'];
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
  readonly write: WriteOptions;
  readonly options?: JsonObject | null;
}

/** Runs the admission checks in their order. */
export class AdmissionChain {
  readonly #checks: readonly AdmissionCheck[];
  readonly #deps: RegistryDependencies;
  readonly #written: WrittenRevision;

  constructor(checks: readonly AdmissionCheck[], deps: RegistryDependencies, written: WrittenRevision) {
    this.#checks = checks;
    this.#deps = deps;
    this.#written = written;
  }

  /** Builds the request for the checks. */
  request(asked: Asked): AdmissionRequest {
    const { context, target, operation, object, old, write } = asked;
    const { definition, namespace, subresource } = target;
    return {
      operation,
      definition,
      kind: asked.kind ?? { group: definition.group, version: definition.version, kind: definition.kind },
      namespace,
      name: target.name === '' ? (object.metadata.name ?? '') : target.name,
      subresource,
      object,
      old,
      user: context.user,
      dryRun: write.dryRun,
      options: asked.options === undefined ? writeOptions(operation, write) : asked.options,
      signal: context.signal,
      compute: (work) => this.#deps.turns.run(work, context.signal),
      warn: context.warn,
      annotate: (key, value, level) => context.audit.annotate(key, value, level),
      reinvocation: new Reinvocation(),
      conditions: [],
      charged: new Map(),
    };
  }

  /** Runs the mutating checks. Runs them a second time if a check requests reinvocation. */
  async mutate(request: AdmissionRequest, lookups: Lookups): Promise<void> {
    const owners = (request.object.metadata as ObjectMeta | undefined)?.managedFields;
    await this.#mutateOnce(request, lookups);
    if (request.reinvocation.needed) {
      request.reinvocation.again = true;
      await this.#mutateOnce(request, lookups);
    }
    keepOwners(request, owners);
  }

  async validate(request: AdmissionRequest, lookups: Lookups): Promise<void> {
    for (const check of this.#checks) {
      const judged = check.validate?.(request, lookups);
      if (judged !== undefined) await judged;
    }
  }

  async #mutateOnce(request: AdmissionRequest, lookups: Lookups): Promise<void> {
    for (const check of this.#checks) {
      // Most checks return at once for most kinds. An await for each of them would cost time.
      const done = check.mutate?.(request, lookups);
      if (done !== undefined) await done;
    }
  }

  /** Runs mutating and validating checks. */
  async admit(asked: Asked): Promise<void> {
    const request = this.request(asked);
    const lookups = this.lookups(asked.context.signal);
    await this.mutate(request, lookups);
    await this.validate(request, lookups);
  }

  /** Runs all checks for a stream with `options`. */
  async connect(context: RequestContext, target: Target, options: KubeObject): Promise<void> {
    const { kind, apiVersion } = options;
    const write: WriteOptions = { dryRun: false, fieldManager: '', fieldValidation: 'Ignore' };
    await this.admit({
      context,
      target,
      operation: 'connect',
      kind: { ...parseApiVersion(apiVersion ?? ''), kind: kind ?? '' },
      object: options,
      old: undefined,
      write,
      options: null,
    });
  }

  /** The lookups of one request. */
  lookups(signal: AbortSignal): Lookups {
    return new Lookups(this.#deps, signal, this.#written);
  }
}

/** Restores the managed fields when admission left invalid ones. */
function keepOwners({ object, warn }: AdmissionRequest, owners: ObjectMeta['managedFields']): void {
  const metadata = object.metadata as ObjectMeta | undefined;
  if (metadata === undefined || metadata.managedFields === owners) return;
  const problem = findManagedFieldsProblem(metadata.managedFields ?? []);
  if (problem === undefined) return;
  if (owners === undefined) delete metadata.managedFields;
  else metadata.managedFields = owners;
  warn(
    `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}`,
  );
}

const KINDS = {
  connect: '',
  create: 'CreateOptions',
  delete: 'DeleteOptions',
  update: 'UpdateOptions',
} as const;

function writeOptions(operation: AdmissionRequest['operation'], write: WriteOptions): JsonObject {
  const { dryRun, fieldManager, fieldValidation, sent = { fieldManager, fieldValidation } } = write;
  return {
    kind: KINDS[operation],
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun ? { dryRun: ['All'] } : {}),
    ...(operation === 'delete' ? {} : sent),
  };
}

import {
  type CustomResourceDefinition,
  CUSTOM_RESOURCE_CLEANUP,
  definitionCondition,
  findResource,
  isReason,
  type KubeObject,
  type ResourceDefinition,
  setDefinitionCondition,
} from '@gantry/api';
import { type Clock, errorMessage, must, pause } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import { DELETE_AS_USUAL, EVERYTHING, type Driver, type RequestContext, type User } from '../driver.ts';
import { planDefinition } from './plan-definition.ts';
import { cachedDefinitions, DEFINITIONS, definitionsOf, type ServingHooks } from './serve-definitions.ts';

export interface DefinitionControllerOptions {
  readonly cache: WatchCache;
  readonly driver: Driver;
  readonly hooks: ServingHooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 500;
/** How long nothing need happen to a definition's objects before they are looked at again all the same. */
const CLEANUP_EVERY_MS = 5000;

const SELF: User = {
  name: 'system:apiserver',
  uid: '',
  groups: ['system:masters', 'gantry:apiservers', 'system:authenticated'],
  extra: {},
};

const WRITE = { dryRun: false, fieldManager: 'kube-apiserver', fieldValidation: 'Ignore' } as const;

type Definition = KubeObject & CustomResourceDefinition;

/**
 * Accepts the names of definitions, establishes them, and deletes the objects of those that are being deleted. Any number of
 * apiservers may do it at once: each write names the version that it was decided from, and who comes second does nothing.
 */
export function definitionController(options: DefinitionControllerOptions): GroupMember {
  return { name: 'custom-resource-definitions', run: (signal) => new DefinitionController(options).run(signal) };
}

class DefinitionController {
  readonly #options: DefinitionControllerOptions;
  readonly #kind: ResourceDefinition;
  readonly #cleaning = new Set<string>();
  #wake = Promise.withResolvers<void>();

  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
    this.#kind = must(findResource({ ...DEFINITIONS, version: 'v1' }), DEFINITIONS.resource);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { cache, clock, logger } = this.#options;
    const stop = cache.resource(DEFINITIONS).observe(() => this.#wake.resolve());
    signal.addEventListener('abort', () => this.#wake.resolve(), { once: true });
    try {
      while (!signal.aborted) {
        this.#wake = Promise.withResolvers();
        try {
          await cache.whenReady(signal);
          await this.#work(signal);
          if (!signal.aborted) await this.#wake.promise;
        } catch (error) {
          if (signal.aborted) break;
          logger.warn({ reason: errorMessage(error) }, 'caring for resource definitions failed, trying again');
          await pause(clock, RETRY_MS, signal);
        }
      }
    } finally {
      stop();
    }
  }

  /** Does what there is to do about each definition. */
  async #work(signal: AbortSignal): Promise<void> {
    const { cache, clock } = this.#options;
    const all = cachedDefinitions(cache) as readonly Definition[];
    for (const crd of all) {
      const others = all.filter((other) => other !== crd);
      const action = planDefinition(crd, others, clock.now());
      if (action?.kind === 'write-status') {
        await this.#write({ ...crd, status: action.status }, 'status', signal);
        // What was decided about the others may rest on the names that this one has now.
        return;
      }
      if (action?.kind === 'clean-up') this.#startCleanup(crd, signal);
    }
  }

  #startCleanup(crd: Definition, signal: AbortSignal): void {
    const { clock, logger } = this.#options;
    const key = `${crd.metadata.name ?? ''}/${crd.metadata.uid ?? ''}`;
    if (this.#cleaning.has(key)) return;
    this.#cleaning.add(key);
    this.#cleanUp(crd, signal)
      .catch(async (error: unknown) => {
        if (signal.aborted) return;
        logger.warn({ reason: errorMessage(error) }, 'deleting custom resources failed, trying again');
        await pause(clock, RETRY_MS, signal);
      })
      .finally(() => {
        this.#cleaning.delete(key);
        this.#wake.resolve();
      });
  }

  /** Deletes all objects, waits until they are gone, and lets the definition go. */
  async #cleanUp(crd: Definition, signal: AbortSignal): Promise<void> {
    const { hooks } = this.#options;
    if (definitionCondition(crd, 'Established')?.status === 'True') {
      const versions = crd.spec.versions.map((version) => ({ ...version, served: version.storage }));
      const [definition] = definitionsOf({ ...crd, spec: { ...crd.spec, versions } }, hooks, false);
      if (definition !== undefined) {
        await this.#note(crd, 'True', 'InstanceDeletionInProgress', 'CustomResource deletion is in progress', signal);
        await this.#empty(definition, signal);
        if (signal.aborted) return;
        await this.#note(crd, 'False', 'InstanceDeletionCompleted', 'removed all instances', signal);
      }
    }
    const present = await this.#read(crd, signal);
    if (present === undefined) return;
    const finalizers = (present.metadata.finalizers ?? []).filter((one) => one !== CUSTOM_RESOURCE_CLEANUP);
    await this.#write({ ...present, metadata: { ...present.metadata, finalizers } }, '', signal);
  }

  /** Deletes all objects of a resource, and returns when the last has gone: some wait for others to let them go. */
  async #empty(definition: ResourceDefinition, signal: AbortSignal): Promise<void> {
    const { cache, clock, driver } = this.#options;
    const stored = cache.resource(definition);
    let changed = Promise.withResolvers<void>();
    const stop = stored.observe(() => changed.resolve());
    try {
      while (!signal.aborted) {
        changed = Promise.withResolvers();
        await cache.catchUp(RETRY_MS, signal);
        const left = stored.snapshot();
        if (left.length === 0) return;
        if (left.some(({ answer }) => answer.object.metadata.deletionTimestamp === undefined)) {
          await driver.deleteCollection(this.#context(signal), definition, EVERYTHING, DELETE_AS_USUAL, WRITE);
        }
        const waiting = new AbortController();
        await Promise.race([
          changed.promise,
          pause(clock, CLEANUP_EVERY_MS, AbortSignal.any([signal, waiting.signal])),
        ]);
        waiting.abort();
      }
    } finally {
      stop();
    }
  }

  async #note(crd: Definition, status: string, reason: string, message: string, signal: AbortSignal): Promise<void> {
    const present = await this.#read(crd, signal);
    if (present === undefined) return;
    const condition = { type: 'Terminating', status, reason, message };
    const conditions = setDefinitionCondition(present.status?.conditions ?? [], condition, this.#options.clock.now());
    await this.#write({ ...present, status: { ...present.status, conditions } }, 'status', signal);
  }

  /** The definition as it is now; undefined when it is gone, or another of its name has come. */
  async #read(crd: Definition, signal: AbortSignal): Promise<Definition | undefined> {
    try {
      const { object } = await this.#options.driver.get(this.#context(signal), this.#target(crd, ''), '');
      return object.metadata.uid === crd.metadata.uid ? (object as Definition) : undefined;
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #write(crd: Definition, subresource: string, signal: AbortSignal): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify(crd));
    const body = { bytes, mediaType: 'application/json' } as const;
    try {
      await this.#options.driver.update(this.#context(signal), this.#target(crd, subresource), body, WRITE);
    } catch (error) {
      // It has changed or gone meanwhile: whatever it is now is looked at again.
      if (!isReason(error, 'Conflict') && !isReason(error, 'NotFound')) throw error;
    }
  }

  #target(crd: Definition, subresource: string) {
    return { definition: this.#kind, namespace: '', name: crd.metadata.name ?? '', subresource };
  }

  #context(signal: AbortSignal): RequestContext {
    return { user: SELF, signal, fence: undefined, warn: () => undefined };
  }
}

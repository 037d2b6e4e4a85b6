import type { ResourceDefinition } from '@gantry/apimachinery';
import { CUSTOM_RESOURCE_CLEANUP, definitionCondition, setDefinitionCondition } from '@gantry/kinds';
import type { CustomResourceDefinition, KubeObject } from '@gantry/objects';
import { type Clock, ControlLoop, errorMessage, pause, Signal } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import { DELETE_AS_USUAL, EVERYTHING, type RegistryWriter, deleteBody } from '../registry/index.ts';
import { type LoopbackClient, loopbackContext } from '../loopback-client.ts';
import { planDefinition } from './plan-definition.ts';
import { cachedDefinitions, DEFINITIONS, definitionsOf, type ServingHooks } from './serve-definitions.ts';

export interface DefinitionControllerOptions {
  readonly cache: WatchCache;
  readonly client: LoopbackClient;
  /** Deletes the objects of custom resources. */
  readonly registry: RegistryWriter;
  readonly hooks: ServingHooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 500;
const RETRY_MAX_MS = 10_000;
/** How often the objects of a terminating definition are checked again without a change. */
const CLEANUP_EVERY_MS = 5000;

const DEFINITION_REF = { ...DEFINITIONS, version: 'v1' };

type Definition = KubeObject & CustomResourceDefinition;

/**
 * Accepts the names of definitions, establishes them, and deletes the objects of terminating ones. Several apiservers may run it at the
 * same time: each write has the version of the object on which it is based, so that the later one has no effect.
 */
export function definitionController(options: DefinitionControllerOptions): GroupMember {
  return new DefinitionController(options).loop;
}

class DefinitionController {
  readonly loop: ControlLoop;
  readonly #options: DefinitionControllerOptions;
  readonly #cleaning = new Set<string>();

  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
    const { cache, clock, logger } = options;
    this.loop = new ControlLoop({
      name: 'custom-resource-definitions',
      clock,
      retry: { initialMs: RETRY_MS, maxMs: RETRY_MAX_MS },
      subscribe: (notify) => [cache.resource(DEFINITIONS).observe(notify)],
      round: async (signal) => {
        await cache.whenReady(signal);
        await this.#reconcile(signal);
      },
      onError: (error) =>
        logger.warn({ reason: errorMessage(error) }, 'reconciling resource definitions failed, retrying'),
    });
  }

  /** Runs one round for all definitions. */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { cache, clock } = this.#options;
    const all = cachedDefinitions(cache) as readonly Definition[];
    for (const crd of all) {
      const others = all.filter((other) => other !== crd);
      const action = planDefinition(crd, others, clock.now());
      if (action?.kind === 'write-status') {
        await this.#write({ ...crd, status: action.status }, 'status', signal);
        // The plans of other definitions may depend on the new names of this one.
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
        this.loop.notify();
      });
  }

  /** Deletes all objects, waits until they are gone, and removes the finalizer of the definition. */
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

  /** Deletes all objects of a resource. Returns when the last one is gone; finalizers may delay that. */
  async #empty(definition: ResourceDefinition, signal: AbortSignal): Promise<void> {
    const { cache, clock, registry } = this.#options;
    const stored = cache.resource(definition);
    const changed = new Signal();
    const unsubscribe = stored.observe(changed.notify);
    try {
      while (!signal.aborted) {
        await cache.catchUp(RETRY_MS, signal);
        const left = stored.snapshot();
        if (left.length === 0) return;
        if (left.some(({ response }) => response.object.metadata.deletionTimestamp === undefined)) {
          await registry.deleteCollection(loopbackContext(signal), definition, EVERYTHING, deleteBody(DELETE_AS_USUAL));
        }
        await changed.wait(clock, CLEANUP_EVERY_MS, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  async #note(crd: Definition, status: string, reason: string, message: string, signal: AbortSignal): Promise<void> {
    const present = await this.#read(crd, signal);
    if (present === undefined) return;
    const condition = { type: 'Terminating', status, reason, message };
    const conditions = setDefinitionCondition(present.status?.conditions ?? [], condition, this.#options.clock.now());
    await this.#write({ ...present, status: { ...present.status, conditions } }, 'status', signal);
  }

  /** The current definition; undefined when it is gone or another one has its name. */
  async #read(crd: Definition, signal: AbortSignal): Promise<Definition | undefined> {
    const object = await this.#options.client.get(DEFINITION_REF, crd.metadata, 'latest', signal);
    return object?.metadata.uid === crd.metadata.uid ? (object as Definition) : undefined;
  }

  async #write(crd: Definition, subresource: string, signal: AbortSignal): Promise<void> {
    await this.#options.client.update(DEFINITION_REF, crd, subresource, signal);
  }
}

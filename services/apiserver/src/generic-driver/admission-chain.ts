import { findResource, type KubeObject, type ResourceRef } from '@gantry/api';
import type { AdmissionCheck, AdmissionReader, AdmissionRequest } from '../admission/index.ts';
import { createEntry, type Entry, objectKey } from '../cache/index.ts';
import type { DriverDependencies } from './dependencies.ts';
import { encodeProtobuf } from './machinery.ts';
import { fromStore } from './store-errors.ts';

/** What the checks of one request have looked up: each object once, so that all of them judge the same. */
export class Lookups implements AdmissionReader {
  readonly #deps: DriverDependencies;
  readonly #signal: AbortSignal;
  readonly #seen = new Map<string, Entry | undefined>();

  constructor(deps: DriverDependencies, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  async find<T extends KubeObject>(resource: ResourceRef, namespace: string, name: string): Promise<T | undefined> {
    const definition = findResource(resource);
    if (definition === undefined) return undefined;
    const key = objectKey(definition, namespace, name);
    if (!this.#seen.has(key)) {
      const { cache } = this.#deps;
      const cached = cache.ready ? cache.resource(definition).get(key) : undefined;
      if (cached === undefined) await this.readAgain(key);
      else this.#seen.set(key, cached);
    }
    const entry = this.#seen.get(key);
    if (entry === undefined) return undefined;
    const view = this.#deps.cache.view(definition);
    if (view.remote) await view.prepare([entry]);
    return view.entry(entry).answer.object as T;
  }

  /** What was found at a key, as it was found. */
  seen(key: string): Entry | undefined {
    return this.#seen.get(key);
  }

  /** Forgets what was found and asks the store. */
  async readAgain(key: string): Promise<Entry | undefined> {
    const stored = await fromStore(this.#deps.store.get(key, this.#signal));
    const entry = stored === null ? undefined : createEntry(stored, encodeProtobuf);
    this.#seen.set(key, entry);
    return entry;
  }
}

/** Runs the admission checks in their order. */
export class AdmissionChain {
  readonly #checks: readonly AdmissionCheck[];
  readonly #deps: DriverDependencies;

  constructor(checks: readonly AdmissionCheck[], deps: DriverDependencies) {
    this.#checks = checks;
    this.#deps = deps;
  }

  async mutate(request: AdmissionRequest, lookups: Lookups): Promise<void> {
    for (const check of this.#checks) await check.mutate?.(request, lookups);
  }

  async validate(request: AdmissionRequest, lookups: Lookups): Promise<void> {
    for (const check of this.#checks) await check.validate?.(request, lookups);
  }

  /** What one request may look up. */
  lookups(signal: AbortSignal): Lookups {
    return new Lookups(this.#deps, signal);
  }
}

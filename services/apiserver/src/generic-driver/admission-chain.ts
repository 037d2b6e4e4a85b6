import { findResource, type KubeObject, type ResourceRef } from '@gantry/api';
import type { AdmissionCheck, AdmissionReader, AdmissionRequest } from '../admission/index.ts';
import { objectKey } from '../cache/index.ts';
import type { DriverDependencies } from './dependencies.ts';
import { fromStore } from './store-errors.ts';

/** Runs the admission checks in their order. */
export class AdmissionChain {
  readonly #checks: readonly AdmissionCheck[];
  readonly #deps: DriverDependencies;

  constructor(checks: readonly AdmissionCheck[], deps: DriverDependencies) {
    this.#checks = checks;
    this.#deps = deps;
  }

  async mutate(request: AdmissionRequest, signal: AbortSignal): Promise<void> {
    const reader = this.reader(signal);
    for (const check of this.#checks) await check.mutate?.(request, reader);
  }

  async validate(request: AdmissionRequest, signal: AbortSignal): Promise<void> {
    const reader = this.reader(signal);
    for (const check of this.#checks) await check.validate?.(request, reader);
  }

  /** What checks may look up, for others too. */
  reader(signal: AbortSignal): AdmissionReader {
    const { cache, store } = this.#deps;
    return {
      find: async <T extends KubeObject>(
        resource: ResourceRef,
        namespace: string,
        name: string,
      ): Promise<T | undefined> => {
        const definition = findResource(resource);
        if (definition === undefined) return undefined;
        const key = objectKey(definition, namespace, name);
        const cached = cache.ready ? cache.resource(definition).get(key) : undefined;
        if (cached !== undefined) return cached.answer.object as T;
        const stored = await fromStore(store.get(key, signal));
        return stored === null ? undefined : (stored.object as unknown as T);
      },
    };
  }
}

import type { KubeObject, ObjectWriter, Resource } from '@gantry/operator';

/**
 * Applies configurations. Remembers what it applied last, so that an equal configuration sends no request while the object still has all of
 * it. A field that is no longer in a configuration is removed.
 */
export class ApplyMemory {
  readonly #texts = new Map<string, string>();

  clear(): void {
    this.#texts.clear();
  }

  async apply<T extends KubeObject>(
    resource: Resource<T>,
    live: T | undefined,
    configuration: KubeObject,
    client: Pick<ObjectWriter, 'apply'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace = '', name = '' } = configuration.metadata;
    const place = `${namespace}/${name}`;
    const text = JSON.stringify([live?.metadata.uid, configuration]);
    if (this.#texts.get(place) === text && includes(live, configuration)) return;
    const { metadata } = await client.apply(resource, configuration, {}, signal);
    this.#texts.set(place, JSON.stringify([metadata.uid, configuration]));
  }

  forget({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    this.#texts.delete(`${namespace}/${name}`);
  }
}

/** Whether the object has each field of the configuration, with lists of the same length. */
function includes(live: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(live, wanted);
  const entries = Object.entries(wanted);
  if (typeof live !== 'object' || live === null) return live === undefined && entries.length === 0;
  if (Array.isArray(wanted) && Array.isArray(live) && live.length !== wanted.length) return false;
  return entries.every(([key, value]) => includes((live as Record<string, unknown>)[key], value));
}

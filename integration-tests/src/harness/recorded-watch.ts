import type { KubeObject, Resource } from '@gantry/objects';
import type { WatchEvent } from '@gantry/client';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

/** Every event of one watch since it was opened, with the state of all objects after each. Dispose of it to end it. */
export interface RecordedWatch<T extends KubeObject> extends AsyncDisposable {
  /** The objects after each event, the first being those that were there. */
  readonly states: readonly (readonly T[])[];
  readonly events: readonly WatchEvent<T>[];
  /** Why the watch has ended by itself, which is not meant to happen. */
  readonly failure: () => unknown;
}

export async function recordWatch<T extends KubeObject>(
  cluster: Cluster,
  resource: Resource<T>,
  namespace: string,
): Promise<RecordedWatch<T>> {
  const stop = new AbortController();
  const first = await cluster.api.list(resource, { namespace }, stop.signal);
  const objects = new Map(first.items.map((object) => [object.metadata.name ?? '', object]));
  const states: (readonly T[])[] = [[...objects.values()]];
  const events: WatchEvent<T>[] = [];
  let failure: unknown;
  const reading = (async () => {
    const options = { namespace, resourceVersion: first.resourceVersion };
    for await (const batch of cluster.api.watch(resource, options, stop.signal)) {
      for (const event of batch) {
        events.push(event);
        if (event.type === 'BOOKMARK') continue;
        const name = event.object.metadata.name ?? '';
        if (event.type === 'DELETED') objects.delete(name);
        else objects.set(name, event.object);
        states.push([...objects.values()]);
      }
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) failure = error;
  });
  return {
    states,
    events,
    failure: () => failure,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reading;
    },
  };
}

/** Waits until the watch has seen what a list shows now. */
export async function untilSeen<T extends KubeObject>(
  cluster: Cluster,
  watch: RecordedWatch<T>,
  resource: Resource<T>,
  namespace: string,
): Promise<void> {
  await eventually('the watch has caught up', 120_000, async () => {
    const now = await cluster.list(resource, namespace);
    const versions = (objects: readonly T[]) =>
      objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    return (
      versions(now).toSorted().join() ===
      versions(watch.states.at(-1) ?? [])
        .toSorted()
        .join()
    );
  });
}

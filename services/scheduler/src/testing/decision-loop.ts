import { type Clock, seededRandom } from '@gantry/base';
import type { ObjectClient, ObjectWrite, WriteResult } from '@gantry/client';
import { type Binding, type KubeObject, type Pod, PODS, type Resource, StatusError } from '@gantry/objects';
import { setImmediate as turn } from 'node:timers/promises';
import { ClusterView } from '../cluster-view.ts';
import { SchedulingQueue } from '../queue.ts';
import { runSchedulingCycles } from '../scheduler.ts';

/**
 * The scheduler's queue, cache view and cycles, over objects in this process that are stored at once. So it shows what decisions cost
 * without an API. It stores bindings, statuses and deletions of pods; claims have to be bound.
 */
export class DecisionLoop implements AsyncDisposable {
  readonly #objects = new Map<string, KubeObject>();
  readonly #view: ClusterView;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #bound = new Map<string, number>();
  readonly #deleted = new Map<string, number>();
  #changed = Promise.withResolvers<void>();
  #version = 0;

  constructor(clock: Clock) {
    const queue = new SchedulingQueue({ clock, random: seededRandom(1) });
    this.#view = new ClusterView(queue);
    const client: Pick<ObjectClient, 'batch' | 'get'> = {
      batch: (writes) => this.#batch(writes),
      get: async <T extends KubeObject>(resource: Resource<T>, { namespace, name }: Pod['metadata']) => {
        const found = this.#objects.get(idOf(resource, namespace, name));
        if (found === undefined) throw StatusError.notFound(resource, name ?? '');
        return found as T;
      },
    };
    this.#running = runSchedulingCycles(
      {
        client: client as ObjectClient,
        cache: { list: () => [] } as never,
        view: this.#view,
        queue,
        events: { event: () => undefined },
        clock,
        random: seededRandom(2),
        log: { debug: () => undefined, info: () => undefined, warn: fail, error: fail },
      },
      this.#stop.signal,
      this.#stop.signal,
    );
    // Disposal reports it, and so does whoever waits for pods.
    this.#running.catch(() => this.#changed.resolve());
  }

  /** Stores objects of one resource. The scheduler sees them at once. */
  create(resource: Resource, objects: readonly KubeObject[]): void {
    const changes = objects.map((object) => {
      this.#version += 1;
      const { namespace = '', name = '' } = object.metadata;
      const metadata = {
        ...object.metadata,
        uid: `uid-${this.#version}`,
        resourceVersion: String(this.#version * 256),
      };
      const stored = { ...object, metadata };
      this.#objects.set(idOf(resource, namespace, name), stored);
      return { object: stored, old: undefined };
    });
    this.#view.take({ kind: 'changed', resource, changes });
  }

  /** Removes an object. Nothing happens when there is none. */
  delete(resource: Resource, { namespace, name }: { readonly namespace: string; readonly name: string }): void {
    const id = idOf(resource, namespace, name);
    const old = this.#objects.get(id);
    if (old === undefined || !this.#objects.delete(id)) return;
    this.#view.take({ kind: 'changed', resource, changes: [{ object: undefined, old }] });
    this.#count(this.#deleted, namespace);
  }

  /** Resolves when this number of pods of a namespace have been bound. Rejects when the scheduler has ended. */
  untilBound(namespace: string, count: number): Promise<void> {
    return this.#until(this.#bound, namespace, count);
  }

  /** Resolves when this number of objects of a namespace have been deleted. Rejects when the scheduler has ended. */
  untilDeleted(namespace: string, count: number): Promise<void> {
    return this.#until(this.#deleted, namespace, count);
  }

  async #until(counts: ReadonlyMap<string, number>, namespace: string, count: number): Promise<void> {
    while ((counts.get(namespace) ?? 0) < count) {
      this.#changed = Promise.withResolvers<void>();
      await Promise.race([this.#changed.promise, this.#running]);
      if (this.#stop.signal.aborted) throw new Error('the scheduler has ended');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #batch(writes: readonly ObjectWrite[]): Promise<readonly WriteResult[]> {
    // Timers and other work of the process take their turn, as while an API server answers.
    await turn();
    return writes.map((write): WriteResult => {
      const { namespace = '', name = '' } = write.verb === 'create' ? write : write.key;
      const old: Pod | undefined = this.#objects.get(idOf(PODS, namespace, name));
      if (old === undefined) return { ok: false, status: StatusError.notFound(PODS, name).toStatus() };
      if (write.verb === 'delete') {
        this.delete(PODS, { namespace, name });
        return { ok: true, object: old };
      }
      return { ok: true, object: this.#change(old, write) };
    });
  }

  #change(old: Pod, write: ObjectWrite): Pod {
    this.#version += 1;
    const { namespace = '', name = '' } = old.metadata;
    const metadata = { ...old.metadata, resourceVersion: String(this.#version * 256) };
    const pod: Pod = { ...old, metadata, ...changeOf(old, write) };
    this.#objects.set(idOf(PODS, namespace, name), pod);
    this.#view.take({ kind: 'changed', resource: PODS, changes: [{ object: pod, old }] });
    if (write.verb !== 'create') return pod;
    this.#count(this.#bound, namespace);
    return pod;
  }

  #count(counts: Map<string, number>, namespace: string): void {
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    this.#changed.resolve();
  }
}

/** What a binding or a patch of the status changes. */
function changeOf({ spec, status }: Pod, write: ObjectWrite): Pick<Pod, 'spec' | 'status'> {
  if (write.verb === 'create') {
    const nodeName = (write.object as Binding).target.name ?? '';
    return { spec: { containers: [], ...spec, nodeName }, status: { ...status, phase: 'Pending' } };
  }
  if (write.verb !== 'patch') throw new Error(`the decision loop stores no ${write.verb}`);
  const { nominatedNodeName, ...patch } = (write.patch as { readonly status: Record<string, unknown> }).status;
  const nominated = typeof nominatedNodeName === 'string' ? { nominatedNodeName } : {};
  return { spec, status: { ...status, ...patch, ...nominated } };
}

function idOf({ resource }: Pick<Resource, 'resource'>, namespace = '', name = ''): string {
  return `${resource}/${namespace}/${name}`;
}

function fail(fields: object, message: string): never {
  throw new Error(`${message}: ${JSON.stringify(fields)}`);
}

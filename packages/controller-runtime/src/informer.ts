import type { KubeObject } from '@gantry/objects';
import type { ReflectorEvent } from './reflector.ts';
import { type ObjectChange, ResourceIndex } from './resource-index.ts';
import { parseVersion } from './revision.ts';

/** The cached objects of one resource, fed by the events of its reflectors: one for all namespaces (''), or one for each namespace. */
export class Informer {
  readonly index: ResourceIndex;
  readonly #reached: Map<string, number>;

  /** `byUid` is shared by all informers. */
  constructor(byUid?: Map<string, KubeObject>, namespaces: readonly string[] = ['']) {
    this.index = new ResourceIndex(byUid);
    this.#reached = new Map(namespaces.map((namespace) => [namespace, 0]));
  }

  /** The resourceVersion that the index has reached in all namespaces; 0 before the first list of each. */
  get reached(): number {
    return Math.min(...this.#reached.values());
  }

  /** The resourceVersion that the index has reached in a namespace. */
  reachedIn(namespace: string): number {
    return this.#reached.get(namespace) ?? this.reached;
  }

  /** Applies an event of the reflector of a namespace to the index; returns what changed. */
  take(event: Exclude<ReflectorEvent, { kind: 'failed' }>, namespace = ''): readonly ObjectChange[] {
    switch (event.kind) {
      case 'resync': {
        const others =
          namespace === '' ? [] : this.index.list('').filter((one) => one.metadata.namespace !== namespace);
        const changes = this.index.replace(others.length === 0 ? event.objects : [...others, ...event.objects]);
        this.#reached.set(namespace, parseVersion(event.resourceVersion));
        return changes;
      }
      case 'changes': {
        const changes: ObjectChange[] = [];
        for (const { kind, object } of event.changes) {
          const change = kind === 'put' ? this.index.put(object) : this.index.remove(object);
          if (change !== undefined) changes.push(change);
        }
        this.#reached.set(namespace, Math.max(this.reachedIn(namespace), parseVersion(event.resourceVersion)));
        return changes;
      }
    }
  }
}

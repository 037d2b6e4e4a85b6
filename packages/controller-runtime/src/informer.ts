import type { KubeObject } from '@gantry/objects';
import type { ReflectorEvent } from './reflector.ts';
import { type ObjectChange, ResourceIndex } from './resource-index.ts';
import { parseVersion } from './revision.ts';

/** The cached objects of one resource, fed by the events of a reflector. */
export class Informer {
  readonly index: ResourceIndex;
  /** The resourceVersion that the index has reached; 0 before the first list. */
  reached = 0;

  /** `byUid` is shared by all informers. */
  constructor(byUid?: Map<string, KubeObject>) {
    this.index = new ResourceIndex(byUid);
  }

  /** Applies an event to the index; returns what changed. */
  take(event: Exclude<ReflectorEvent, { kind: 'failed' }>): readonly ObjectChange[] {
    switch (event.kind) {
      case 'resync': {
        const changes = this.index.replace(event.objects);
        this.reached = parseVersion(event.resourceVersion);
        return changes;
      }
      case 'changes': {
        const changes: ObjectChange[] = [];
        for (const { kind, object } of event.changes) {
          const change = kind === 'put' ? this.index.put(object) : this.index.remove(object);
          if (change !== undefined) changes.push(change);
        }
        this.reached = Math.max(this.reached, parseVersion(event.resourceVersion));
        return changes;
      }
    }
  }
}

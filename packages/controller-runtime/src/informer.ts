import type { ReflectorEvent } from './reflector.ts';
import { type Change, ResourceIndex } from './resource-index.ts';
import { parseVersion } from './revision.ts';

/** What is known of the objects of one resource, as a reflector tells it. */
export class Informer {
  readonly index = new ResourceIndex();
  /** resourceVersion up to which everything is in the index; 0 before the first list. */
  reached = 0;

  /** Takes what a reflector says into the index, and answers what that changed. */
  take(event: Exclude<ReflectorEvent, { kind: 'failed' }>): readonly Change[] {
    switch (event.kind) {
      case 'resync': {
        const changes = this.index.replace(event.objects);
        this.reached = parseVersion(event.resourceVersion);
        return changes;
      }
      case 'changes': {
        const changes: Change[] = [];
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

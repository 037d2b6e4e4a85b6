import type { GroupResource } from '@gantry/objects';
import { revisionOf } from '../../cache/index.ts';

/** Resources that admission reads, as `<group>/<resource>`. */
const READ_RESOURCES: ReadonlySet<string> = new Set(['/limitranges', '/resourcequotas', '/namespaces']);
/** Groups whose resources admission reads. */
const READ_GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'node.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
]);

/**
 * The newest revision in which this process wrote an object that admission reads. Admission waits until the cache has reached it, so
 * that a write affects the next request of its client.
 */
export class WrittenRevision {
  #newest = 0;

  get newest(): number {
    return this.#newest;
  }

  note({ group, resource }: GroupResource, resourceVersion: number): void {
    if (!READ_RESOURCES.has(`${group}/${resource}`) && !READ_GROUPS.has(group)) return;
    this.#newest = Math.max(this.#newest, revisionOf(resourceVersion));
  }
}

import type { KubeObject, Resource } from '@gantry/objects';
import type { World } from '../world.ts';

/** An object to put into namespace `n`, with its name as its uid. `undefined` removes the object. */
export type Step = readonly [resource: Resource, name: string, object: object | undefined];

/** Puts objects into a world one after the other. */
export function play(world: World, steps: readonly Step[]): void {
  steps.forEach(([resource, name, content], index) => {
    const given: Partial<KubeObject> | undefined = content;
    const metadata = { name, namespace: 'n', uid: name, ...given?.metadata };
    const object = given && { apiVersion: 'v1', kind: resource.kind, ...given, metadata };
    world.take({ resource, name: `n/${name}`, resourceVersion: (index + 1) * 256, object });
  });
}

/** Metadata of an object that is controlled by an object with this name, which is also its uid. */
export function owned(kind: string, name: string): object {
  return { ownerReferences: [{ apiVersion: 'v1', kind, name, uid: name, controller: true }] };
}

/** Metadata of an object that is being deleted. */
export const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 };

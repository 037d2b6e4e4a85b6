import { apiVersionOf, type KubeObject, type Resource } from '@gantry/objects';
import type { Content, SimulatedKind } from './simulated-kind.ts';

/** One action of a user, or the loss or return of a node. */
export type Operation =
  | {
      readonly kind: 'create';
      readonly of: SimulatedKind;
      readonly object: KubeObject;
      /** The object's initial owners, which are in the same namespace. */
      readonly owners?: readonly NamedOwner[];
    }
  | { readonly kind: 'change'; readonly of: SimulatedKind; readonly object: KubeObject; readonly patch: object }
  | {
      readonly kind: 'delete';
      readonly of: SimulatedKind;
      readonly object: KubeObject;
      readonly propagation: 'Background' | 'Foreground' | 'Orphan';
    }
  /** Adds an owner to the object. */
  | { readonly kind: 'own'; readonly of: SimulatedKind; readonly object: KubeObject; readonly owner: NamedOwner }
  /** Asks for the eviction of all pods of an application, one after the other. */
  | { readonly kind: 'evict'; readonly namespace: string; readonly app: string }
  | { readonly kind: 'lose-node' | 'restore-node'; readonly node: string }
  | { readonly kind: 'end-namespace'; readonly namespace: string };

/** A step of a history: an operation, and the pause before it. */
export interface Step {
  readonly pauseMs: number;
  readonly operation: Operation;
}

/** An owner as users name it. Its uid is known only when the history runs. */
export interface NamedOwner {
  readonly resource: Resource;
  readonly name: string;
  /** Whether the owner's foreground deletion waits until the object is gone. */
  readonly blocks: boolean;
}

/** An object of a history. */
export function objectOf(
  resource: Resource,
  namespace: string,
  name: string,
  { metadata, ...content }: Content,
): KubeObject {
  const place = namespace === '' ? {} : { namespace };
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, ...place, ...metadata },
    ...content,
  };
}

import type { KubeObject, ResourceRef } from '@gantry/api';

/** Objects of one resource in one namespace. */
export interface Collection {
  readonly resource: ResourceRef;
  readonly namespace: string;
}

/** One way into the API server. Every method rejects when the server refuses. Dispose of it to close its connections. */
export interface Door extends Disposable {
  readonly name: string;
  create(collection: Collection, object: KubeObject): Promise<void>;
  get(collection: Collection, name: string): Promise<void>;
  /** Without a resourceVersion: whatever is there is replaced. */
  update(collection: Collection, object: KubeObject): Promise<void>;
  /** The number of bytes that came, or NaN where the door does not know. */
  list(collection: Collection): Promise<number>;
  /** Reads events after `resourceVersion` until the signal is aborted; rejects when the server ends it before. */
  watch(
    collection: Collection,
    resourceVersion: string,
    onEvents: (count: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

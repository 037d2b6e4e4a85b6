import type { KubeObject, Resource } from '@gantry/objects';

/** Objects of one resource in one namespace. */
export interface Collection {
  readonly resource: Resource;
  readonly namespace: string;
}

/** An endpoint and encoding of the API server. Methods reject when the server refuses. Disposing closes the connections. */
export interface Endpoint extends Disposable {
  readonly name: string;
  create(collection: Collection, object: KubeObject): Promise<void>;
  get(collection: Collection, name: string): Promise<void>;
  /** Replaces the object unconditionally, without a resourceVersion. */
  update(collection: Collection, object: KubeObject): Promise<void>;
  /** The number of received bytes, or NaN if unknown. */
  list(collection: Collection): Promise<number>;
  /** Reads events after `resourceVersion` until the signal is aborted; rejects when the server ends the watch. */
  watch(
    collection: Collection,
    resourceVersion: string,
    onEvents: (count: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

import type { JsonObject, KubeObject, Resource } from '@gantry/objects';

/** Objects of one resource in one namespace. */
export interface Collection {
  readonly resource: Resource;
  readonly namespace: string;
}

/** How a collection is listed: all objects at once, in pages of 500, or in a form that has less of each object. */
export type ListForm = 'whole' | 'pages' | 'metadata' | 'table';

export const PAGE = 500;

/** An endpoint and encoding of the API server. Methods reject when the server refuses. Disposing closes the connections. */
export interface Endpoint extends Disposable {
  create(collection: Collection, object: KubeObject): Promise<void>;
  get(collection: Collection, name: string): Promise<void>;
  /** Replaces the object unconditionally, without a resourceVersion. */
  update(collection: Collection, object: KubeObject): Promise<void>;
  /** Changes the object by a merge patch. */
  patch(collection: Collection, name: string, merge: JsonObject): Promise<void>;
  delete(collection: Collection, name: string): Promise<void>;
  /** The number of received bytes, or NaN if unknown. */
  list(collection: Collection, form: ListForm): Promise<number>;
  /** Reads events after `resourceVersion` until the signal is aborted; rejects when the server ends the watch. */
  watch(
    collection: Collection,
    resourceVersion: string,
    onEvents: (count: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Opens endpoints of one kind. */
export interface EndpointKind {
  readonly name: string;
  /** What it can list. */
  readonly forms: readonly ListForm[];
  /** An endpoint that divides its requests among so many connections. */
  open(connections: number): Promise<Endpoint>;
}

/** One side of a mutual TLS connection, as PEM. */
export interface TlsMaterial {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** TLS material that may be renewed while it is in use. */
export interface TlsSource {
  current(): TlsMaterial;
  /** Calls `listener` after each renewal, until the returned function is called. */
  subscribe(listener: (material: TlsMaterial) => void): () => void;
}

/** TLS material that never changes. */
export function fixedTls(material: TlsMaterial): TlsSource {
  return { current: () => material, subscribe: () => () => undefined };
}

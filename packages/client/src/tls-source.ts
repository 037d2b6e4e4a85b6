/** What one side of a mutual TLS connection needs, as PEM. */
export interface TlsMaterial {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** TLS material that may be renewed while in use; the service shell's TLS folder is one. */
export interface TlsSource {
  current(): TlsMaterial;
  /** Calls `listener` after each renewal, until the returned function is called. */
  subscribe(listener: (material: TlsMaterial) => void): () => void;
}

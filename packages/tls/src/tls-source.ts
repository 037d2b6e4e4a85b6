import type { experimental } from '@grpc/grpc-js';

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

/**
 * A TLS source in grpc-js' form. New connections use the newest material; open ones are not closed. A listener gets its first call after
 * its registration, because grpc-js loses a call during registration.
 */
export function createCertificateProvider(source: TlsSource): experimental.CertificateProvider {
  const subscriptions = new Map<object, () => void>();
  const add = (listener: object, call: (material: TlsMaterial) => void) => {
    queueMicrotask(() => call(source.current()));
    subscriptions.set(listener, source.subscribe(call));
  };
  const remove = (listener: object) => subscriptions.get(listener)?.();
  return {
    addCaCertificateListener: (listener) => add(listener, ({ ca }) => listener({ caCertificate: ca })),
    addIdentityCertificateListener: (listener) =>
      add(listener, ({ cert, key }) => listener({ certificate: cert, privateKey: key })),
    removeCaCertificateListener: remove,
    removeIdentityCertificateListener: remove,
  };
}

import type { experimental } from '@grpc/grpc-js';
import type { TlsMaterial, TlsSource } from './tls-source.ts';

/**
 * A TLS source in grpc-js' form: new connections use the newest material, open ones are not closed. A listener is called
 * first after its registration: grpc-js loses a call during it.
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

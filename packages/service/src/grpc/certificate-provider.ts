import type { experimental } from '@grpc/grpc-js';
import type { TlsSource } from '../tls-folder.ts';

/**
 * A TLS source in the form that grpc-js takes: new connections use the newest material, open ones stay. The first call of a listener comes
 * after its registration: grpc-js loses one that comes during it.
 */
export function createCertificateProvider(source: TlsSource): experimental.CertificateProvider {
  const subscriptions = new Map<object, () => void>();
  return {
    addCaCertificateListener: (listener) => {
      queueMicrotask(() => listener({ caCertificate: source.current().ca }));
      subscriptions.set(
        listener,
        source.subscribe(({ ca }) => listener({ caCertificate: ca })),
      );
    },
    addIdentityCertificateListener: (listener) => {
      queueMicrotask(() => {
        const { cert, key } = source.current();
        listener({ certificate: cert, privateKey: key });
      });
      subscriptions.set(
        listener,
        source.subscribe((material) => listener({ certificate: material.cert, privateKey: material.key })),
      );
    },
    removeCaCertificateListener: (listener) => subscriptions.get(listener)?.(),
    removeIdentityCertificateListener: (listener) => subscriptions.get(listener)?.(),
  };
}

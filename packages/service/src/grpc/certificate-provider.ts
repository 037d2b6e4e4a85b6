import type { experimental } from '@grpc/grpc-js';
import type { TlsSource } from '../tls-folder.ts';

/** A TLS source in the form that grpc-js takes: new connections use the newest material, open ones stay. */
export function createCertificateProvider(source: TlsSource): experimental.CertificateProvider {
  const subscriptions = new Map<object, () => void>();
  return {
    addCaCertificateListener: (listener) => {
      listener({ caCertificate: source.current().ca });
      subscriptions.set(
        listener,
        source.subscribe(({ ca }) => listener({ caCertificate: ca })),
      );
    },
    addIdentityCertificateListener: (listener) => {
      const { cert, key } = source.current();
      listener({ certificate: cert, privateKey: key });
      subscriptions.set(
        listener,
        source.subscribe((material) => listener({ certificate: material.cert, privateKey: material.key })),
      );
    },
    removeCaCertificateListener: (listener) => subscriptions.get(listener)?.(),
    removeIdentityCertificateListener: (listener) => subscriptions.get(listener)?.(),
  };
}

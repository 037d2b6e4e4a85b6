import { X509Certificate } from 'node:crypto';
import { type Clock, ControlLoop, errorMessage, type Instant } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import { certificateLife, createRenewalRequest, generateKey, type TlsMaterial, type TlsSource } from '@gantry/tls';

/** Gets a certificate (PEM) for a PKCS #10 request (PEM). May take minutes. */
type RequestCertificate = (request: string, signal: AbortSignal) => Promise<string>;

const LOOK_EVERY_MS = 3_600_000;
const RETRY = { initialMs: 1000, maxMs: 60_000 };

/**
 * The TLS material of one API server. All API servers share a folder. Its certificate cannot contain their addresses, because new containers
 * get new ones. So each server requests a certificate with its own address, which `default/kubernetes` publishes, and keeps it in memory.
 * Until that is signed, the server uses the certificate of the folder.
 */
export class AddressedTls implements TlsSource, Disposable {
  readonly #folder: TlsSource;
  readonly #address: string;
  readonly #listeners = new Set<(material: TlsMaterial) => void>();
  readonly #unsubscribe: () => void;
  #own: Pick<TlsMaterial, 'cert' | 'key'> | undefined;
  #material: TlsMaterial;

  constructor(folder: TlsSource, address: string) {
    this.#folder = folder;
    this.#address = address;
    this.#material = folder.current();
    this.#unsubscribe = folder.subscribe(() => this.#changed());
  }

  current(): TlsMaterial {
    return this.#material;
  }

  subscribe(listener: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }

  /** Requests the certificate, and another one after two thirds of its life, or when the authority has changed. */
  member(options: {
    readonly requestCertificate: RequestCertificate;
    /** Resolves when requests can be made. */
    readonly whenReady: (signal: AbortSignal) => Promise<void>;
    readonly clock: Clock;
    readonly logger: Logger;
  }): GroupMember {
    const { requestCertificate, whenReady, clock, logger } = options;
    const address = this.#address;
    return new ControlLoop({
      name: 'own-address',
      clock,
      intervalMs: LOOK_EVERY_MS,
      retry: RETRY,
      subscribe: (notify) => [this.#folder.subscribe(notify)],
      round: async (signal) => {
        if (this.#renewAt() <= clock.now()) {
          await whenReady(signal);
          const key = await generateKey();
          const { request } = await createRenewalRequest(this.#folder.current().cert.toString(), key, [address]);
          this.#own = { key: Buffer.from(key), cert: Buffer.from(await requestCertificate(request, signal)) };
          this.#changed();
          logger.info({ address }, 'the certificate has the own address');
        }
        return Math.max(0, Math.min(LOOK_EVERY_MS, this.#renewAt() - clock.now()));
      },
      onError: (error) => logger.warn({ address, reason: errorMessage(error) }, 'no certificate with the own address'),
    });
  }

  /** When a certificate is needed. A certificate of the folder that has the address is renewed with the folder. */
  #renewAt(): Instant {
    const { cert } = this.#material;
    if (new X509Certificate(cert).checkIP(this.#address) === undefined) return 0;
    return cert === this.#own?.cert ? certificateLife(cert).renewAt : Number.MAX_SAFE_INTEGER;
  }

  #changed(): void {
    const shared = this.#folder.current();
    const own = this.#own;
    this.#material = own !== undefined && isIssuedBy(shared.ca, own.cert) ? { ...shared, ...own } : shared;
    for (const listener of this.#listeners) listener(this.#material);
  }
}

function isIssuedBy(authority: Buffer, certificate: Buffer): boolean {
  return new X509Certificate(certificate).verify(new X509Certificate(authority).publicKey);
}

import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import type { Clock, Instant } from '@gantry/base';
import type { TlsSource } from '@gantry/tls';

/** What must hold of a client certificate for as long as its connection lives. */
export interface TrustedPeer {
  readonly raw: Buffer;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** The authorities (PEM) by which it was verified last. */
  ca: Buffer;
}

/**
 * Checks client certificates again after the handshake. TLS verifies a certificate once: a connection, and a session that is resumed,
 * would outlive the certificate's end and the authority that issued it.
 */
export class PeerTrust {
  readonly #tls: Pick<TlsSource, 'current'>;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(tls: Pick<TlsSource, 'current'>, clock: Pick<Clock, 'now'>) {
    this.#tls = tls;
    this.#clock = clock;
  }

  /** A certificate that TLS has verified in this handshake or an earlier one. */
  accept(peer: Pick<PeerCertificate, 'raw' | 'valid_from' | 'valid_to'>): TrustedPeer {
    const { raw } = peer;
    const trusted = { raw, notBefore: Date.parse(peer.valid_from), notAfter: Date.parse(peer.valid_to) };
    return { ...trusted, ca: Buffer.alloc(0) };
  }

  /** Whether the certificate is valid now, and issued by an authority of now. */
  isGood(peer: TrustedPeer): boolean {
    const now = this.#clock.now();
    // Written so that a date that could not be read is no time at all.
    if (!(now >= peer.notBefore && now <= peer.notAfter)) return false;
    const { ca } = this.#tls.current();
    if (peer.ca === ca) return true;
    if (!peer.ca.equals(ca) && !isIssuedBy(peer.raw, ca)) return false;
    peer.ca = ca;
    return true;
  }
}

/** Whether one of the authorities (PEM) has signed the certificate (DER). */
function isIssuedBy(raw: Buffer, authorities: Buffer): boolean {
  const certificate = new X509Certificate(raw);
  const texts = authorities.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  return (texts ?? []).some((text) => {
    const authority = new X509Certificate(text);
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  });
}

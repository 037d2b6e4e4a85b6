import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import type { Clock, Instant } from '@gantry/base';
import type { TlsSource } from '@gantry/tls';

/** A client certificate whose validity is checked for as long as its connection is open. */
export interface TrustedPeer {
  readonly raw: Buffer;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** The authorities (PEM) of the last successful check. */
  ca: Buffer;
}

/**
 * Checks client certificates again after the handshake. TLS verifies a certificate only once, so a connection or a resumed session could
 * outlive the certificate or the authority that issued it.
 */
export class PeerTrust {
  readonly #tls: Pick<TlsSource, 'current'>;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(tls: Pick<TlsSource, 'current'>, clock: Pick<Clock, 'now'>) {
    this.#tls = tls;
    this.#clock = clock;
  }

  /** Takes a certificate that TLS has verified, in this handshake or an earlier one. */
  accept(peer: Pick<PeerCertificate, 'raw' | 'valid_from' | 'valid_to'>): TrustedPeer {
    const { raw } = peer;
    const trusted = { raw, notBefore: Date.parse(peer.valid_from), notAfter: Date.parse(peer.valid_to) };
    return { ...trusted, ca: Buffer.alloc(0) };
  }

  /** Whether the certificate is valid now and its issuer is a current authority. */
  isGood(peer: TrustedPeer): boolean {
    const now = this.#clock.now();
    // False also if a date is NaN because it could not be parsed.
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

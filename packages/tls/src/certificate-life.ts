import { X509Certificate } from 'node:crypto';
import type { Instant } from '@gantry/base';

/** Two instants of a certificate's life. */
export interface CertificateLife {
  /** After two thirds of its life. */
  readonly renewAt: Instant;
  readonly endsAt: Instant;
}

/** When a certificate (PEM) is renewed, and when it ends. Throws when it is not a certificate. */
export function certificateLife(certificate: string | Uint8Array): CertificateLife {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const startsAt = Date.parse(validFrom);
  const endsAt = Date.parse(validTo);
  return { renewAt: startsAt + ((endsAt - startsAt) * 2) / 3, endsAt };
}

import { X509Certificate } from 'node:crypto';
import type { Instant } from '@gantry/base';

/** Two instants of a certificate's life. */
export interface CertificateLife {
  /** After two thirds of its life. */
  readonly renewAt: Instant;
  readonly endsAt: Instant;
}

/** When to renew a certificate (PEM), and when it expires. Throws when the input is not a certificate. */
export function certificateLife(certificate: string | Uint8Array): CertificateLife {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const startsAt = Date.parse(validFrom);
  const endsAt = Date.parse(validTo);
  return { renewAt: startsAt + ((endsAt - startsAt) * 2) / 3, endsAt };
}

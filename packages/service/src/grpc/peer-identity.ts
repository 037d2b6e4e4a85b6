import type { PeerCertificate } from 'node:tls';

/** The subject of a client certificate. */
export interface PeerIdentity {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
}

/** The identity in a verified peer certificate, or undefined without a certificate or a common name. */
export function identityOfCertificate(certificate: PeerCertificate | undefined): PeerIdentity | undefined {
  // Node returns {} for a missing certificate, and an array for an attribute that occurs more than once.
  const subject = certificate?.subject;
  const commonName = many(subject?.['CN'])[0];
  if (commonName === undefined || commonName === '') return undefined;
  return {
    commonName,
    organizations: many(subject?.['O']),
    organizationalUnits: many(subject?.['OU']),
  };
}

function many(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

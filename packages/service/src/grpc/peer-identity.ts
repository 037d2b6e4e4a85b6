import type { PeerCertificate } from 'node:tls';

/** Who a client certificate says its holder is. */
export interface PeerIdentity {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** The identity in a verified peer certificate, or undefined when there is none or it names nobody. */
export function identityOfCertificate(certificate: PeerCertificate | undefined): PeerIdentity | undefined {
  // Node answers {} for a missing certificate, and arrays where an attribute occurs more than once.
  const subject = certificate?.subject;
  const commonName = many(subject?.['CN'])[0];
  if (commonName === undefined || commonName === '') return undefined;
  return { commonName, organizations: many(subject?.['O']) };
}

function many(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

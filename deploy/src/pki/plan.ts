import type { Instant } from '@gantry/base';
import type { CertificateSpec, Role } from './roles.ts';

/** The observed state of a role's folder. */
export type FoundCertificate =
  | { readonly state: 'missing' }
  /** Not a certificate, a key that does not match, or a certificate of another CA. */
  | { readonly state: 'unusable'; readonly why: string }
  | {
      readonly state: 'usable';
      readonly commonName: string;
      readonly organisations: readonly string[];
      readonly dnsNames: readonly string[];
      readonly ipAddresses: readonly string[];
      readonly notBefore: Instant;
      readonly notAfter: Instant;
    };

export interface Issue {
  readonly role: Role;
  readonly why: string;
}

/** A certificate is renewed when less than this part of its validity is left. */
export const RENEWAL_PART = 1 / 3;

/** The certificates to issue now. Planning again after issuing them yields none. */
export function planCertificates(
  roles: readonly Role[],
  found: ReadonlyMap<string, FoundCertificate>,
  now: Instant,
): readonly Issue[] {
  return roles.flatMap((role) => {
    const why = reasonToIssue(role.certificate, found.get(role.folder) ?? { state: 'missing' }, now);
    return why === undefined ? [] : [{ role, why }];
  });
}

function reasonToIssue(wanted: CertificateSpec, found: FoundCertificate, now: Instant): string | undefined {
  switch (found.state) {
    case 'missing':
      return 'there is none yet';
    case 'unusable':
      return found.why;
    case 'usable': {
      if (found.commonName !== wanted.commonName || !sameSet(found.organisations, wanted.organisations)) {
        return 'its subject has changed';
      }
      if (!sameSet(found.dnsNames, wanted.dnsNames) || !sameSet(found.ipAddresses, wanted.ipAddresses)) {
        return 'its names have changed';
      }
      const left = found.notAfter - now;
      return left < (found.notAfter - found.notBefore) * RENEWAL_PART ? 'it runs out soon' : undefined;
    }
  }
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value) => other.includes(value));
}

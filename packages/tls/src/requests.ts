import type { Instant } from '@gantry/base';

/** Keys and certificate requests. The X.509 library is large and rarely used, so it is loaded on first use. */
const load = () => import('./certificate-request.ts');

/** A new private key, PEM (PKCS #8). */
export async function generateKey(): Promise<string> {
  return (await load()).generateKey();
}

/** A PKCS #10 request, PEM, for a subject (`O=..., CN=...`) and DNS names, signed with a key (PEM). */
export async function createRequest(subject: string, dnsNames: readonly string[], key: string): Promise<string> {
  return (await load()).createRequest(subject, dnsNames, key);
}

/** A PKCS #10 request, PEM, for the subject and names of an existing certificate (PEM), and further addresses, signed with a key (PEM). */
export async function createRenewalRequest(
  certificate: string,
  key: string,
  addresses: readonly string[] = [],
): Promise<{ readonly request: string; readonly subject: string }> {
  return (await load()).createRenewalRequest(certificate, key, addresses);
}

/** A server certificate (PEM) for DNS names and addresses that is its own authority, and its private key (PEM). */
export async function createSelfSigned(
  hosts: readonly string[],
  life: { readonly notBefore: Instant; readonly notAfter: Instant },
): Promise<{ readonly certificate: string; readonly key: string }> {
  return (await load()).createSelfSigned(hosts, life);
}

import { X509Certificate } from 'node:crypto';
import type { Instant } from '@gantry/base';
import { certificateLife, createSelfSigned } from '@gantry/tls';

/** A certificate that is its own authority, and its private key, PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** The certificates of an operator's webhooks, which its replicas share. */
export interface Certificates {
  readonly current: CertificatePair;
  /** Served when all API servers have been told to trust it. */
  readonly next?: CertificatePair;
  /** PEM, each ending with a newline. What API servers trust: all certificates that a replica may serve. */
  readonly bundle: readonly string[];
}

const DAY_MS = 86_400_000;
/** A new one is made after two thirds of this time. */
const LIFE_MS = 90 * DAY_MS;
/** Clocks of API servers may be this much behind. */
const SKEW_MS = 300_000;
/** How long API servers may take to read the changed configurations, with a wide margin. */
const PUBLISHED_MS = 3_600_000;

/**
 * The certificates as they should be now, or undefined when those observed are right. A certificate is served only after it has been in the
 * bundle for an hour, and `isPublished` says that this process has written that bundle; so a rotation refuses no request.
 */
export async function renewedCertificates(
  observed: Certificates | undefined,
  {
    hosts,
    now,
    isPublished,
  }: { readonly hosts: readonly string[]; readonly now: Instant; readonly isPublished: boolean },
): Promise<Certificates | undefined> {
  const make = () => createSelfSigned(hosts, { notBefore: now - SKEW_MS, notAfter: now + LIFE_MS });
  const trusted = (observed?.bundle ?? []).filter((one) => now < certificateLife(one).endsAt);
  if (observed === undefined || !isUsable(observed.current, hosts, now)) {
    const current = await make();
    return { current, bundle: [current.certificate, ...trusted] };
  }
  const { current, next } = observed;
  if (next !== undefined && isUsable(next, hosts, now)) {
    const madeAt = Date.parse(new X509Certificate(next.certificate).validFrom) + SKEW_MS;
    if (!isPublished || now < madeAt + PUBLISHED_MS) return undefined;
    return { current: next, bundle: trusted };
  }
  if (now < certificateLife(current.certificate).renewAt) return undefined;
  const prepared = await make();
  return { current, next: prepared, bundle: [...trusted, prepared.certificate] };
}

function isUsable({ certificate }: CertificatePair, hosts: readonly string[], now: Instant): boolean {
  if (now >= certificateLife(certificate).endsAt) return false;
  const { subjectAltName = '' } = new X509Certificate(certificate);
  const names = new Set(subjectAltName.split(', ').map((name) => name.slice(name.indexOf(':') + 1)));
  return hosts.every((host) => names.has(host));
}

/** The fields of the Secret, in base64, as the API has them. */
export function formatCertificates({ current, next, bundle }: Certificates): Record<string, string> {
  const texts = {
    'tls.crt': current.certificate,
    'tls.key': current.key,
    'ca.crt': bundle.join(''),
    ...(next === undefined ? {} : { 'next.crt': next.certificate, 'next.key': next.key }),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}

/** The certificates in a Secret; undefined when it has none, or what is in it cannot be read. */
export function parseCertificates(data: Readonly<Record<string, string>> = {}): Certificates | undefined {
  const text = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString();
  const pair = (name: string): CertificatePair | undefined => {
    const found = { certificate: text(`${name}.crt`), key: text(`${name}.key`) };
    return isCertificate(found.certificate) && found.key !== '' ? found : undefined;
  };
  const [current, next] = [pair('tls'), pair('next')];
  const bundle = text('ca.crt').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? [];
  if (current === undefined || !bundle.every(isCertificate)) return undefined;
  return { current, ...(next === undefined ? {} : { next }), bundle };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== '';
  } catch {
    return false;
  }
}

import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Instant } from '@gantry/base';
import * as x509 from '@peculiar/x509';
import type { RequestedCertificate } from './plan.ts';

/** The content and lifetime of a certificate. */
export interface CertificateTerms {
  readonly requested: RequestedCertificate;
  readonly usages: readonly string[];
  readonly seconds: number;
}

/** Signs requests with the key of one authority. */
export interface CertificateAuthority {
  /** Parses a PEM request and verifies its own signature. Returns an error message if it cannot be read. */
  parse(requestPem: string): Promise<RequestedCertificate | string>;
  /** Issues a PEM certificate for the request's key. The names come from `terms`, not from the request. */
  sign(requestPem: string, terms: CertificateTerms, now: Instant): Promise<string>;
}

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** Maximum length of a PEM request: a thousand names fit. Parsing the ASN.1 of a longer one could block all controllers for a second. */
const MAX_REQUEST_CHARS = 32 * 1024;
/** Certificates are valid from this long ago, because clocks of other machines may be slow. */
const BACKDATE_MS = 60_000;

/** Opens the authority with `ca.crt` and `ca.key` in a folder. */
export async function openCertificateAuthority(folder: string): Promise<CertificateAuthority> {
  x509.cryptoProvider.set(webcrypto);
  const [certificatePem, keyPem] = await Promise.all([
    readFile(join(folder, 'ca.crt'), 'utf8'),
    readFile(join(folder, 'ca.key'), 'utf8'),
  ]);
  const issuer = new x509.X509Certificate(certificatePem);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(keyPem), EC, false, [
    'sign',
  ]);
  return {
    parse: parseRequest,
    sign: async (requestPem, terms, now) => {
      const request = new x509.Pkcs10CertificateRequest(requestPem);
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: newSerial(),
        subject: subjectOf(terms.requested),
        issuer: issuer.subject,
        notBefore: new Date(now - BACKDATE_MS),
        notAfter: new Date(Math.min(now + terms.seconds * 1000, issuer.notAfter.getTime())),
        signingAlgorithm: EC,
        publicKey: request.publicKey,
        signingKey,
        extensions: await extensionsOf(terms, issuer, request),
      });
      return `${certificate.toString('pem')}\n`;
    },
  };
}

/** Parses a certificate request. Returns an error message if it is invalid. */
export async function parseRequest(requestPem: string): Promise<RequestedCertificate | string> {
  if (requestPem.length > MAX_REQUEST_CHARS) return `it is longer than ${MAX_REQUEST_CHARS} characters`;
  try {
    const request = new x509.Pkcs10CertificateRequest(requestPem);
    if (!(await request.verify())) return 'its signature is not made with its key';
    const names =
      request.extensions
        .find((extension) => extension instanceof x509.SubjectAlternativeNameExtension)
        ?.names.toJSON() ?? [];
    const dnsNames = names.filter(({ type }) => type === 'dns').map(({ value }) => value);
    const ipAddresses = names.filter(({ type }) => type === 'ip').map(({ value }) => value);
    return {
      commonName: request.subjectName.getField('CN')[0] ?? '',
      organizations: request.subjectName.getField('O'),
      organizationalUnits: request.subjectName.getField('OU'),
      dnsNames,
      ipAddresses,
      otherNames: names.length - dnsNames.length - ipAddresses.length,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function subjectOf({ commonName, organizations, organizationalUnits }: RequestedCertificate): string {
  return new x509.Name([
    ...organizations.map((name) => ({ O: [name] })),
    ...organizationalUnits.map((name) => ({ OU: [name] })),
    { CN: [commonName] },
  ]).toString();
}

async function extensionsOf(
  { requested, usages }: CertificateTerms,
  issuer: x509.X509Certificate,
  request: x509.Pkcs10CertificateRequest,
): Promise<x509.Extension[]> {
  const extended = [
    ...(usages.includes('client auth') ? [x509.ExtendedKeyUsage.clientAuth] : []),
    ...(usages.includes('server auth') ? [x509.ExtendedKeyUsage.serverAuth] : []),
  ];
  const names: x509.JsonGeneralNames = [
    ...requested.dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...requested.ipAddresses.map((value) => ({ type: 'ip' as const, value })),
  ];
  const encipherment = usages.includes('key encipherment') ? x509.KeyUsageFlags.keyEncipherment : 0;
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | encipherment, true),
    new x509.ExtendedKeyUsageExtension(extended),
    await x509.AuthorityKeyIdentifierExtension.create(issuer),
    await x509.SubjectKeyIdentifierExtension.create(request.publicKey),
    ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
  ];
}

/** 127 random bits, so that the serial is positive and has a fixed length. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

import 'reflect-metadata';
import {
  X509Certificate as NodeCertificate,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  webcrypto,
} from 'node:crypto';
import type { Instant } from '@gantry/base';
import * as x509 from '@peculiar/x509';
import { type FoundCertificate, RENEWAL_PART } from './plan.ts';
import type { CertificateSpec } from './roles.ts';

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const CA_DAYS = 3_650;
const FIXED_DAYS = 365;
/** Allowance for clocks of other machines that are behind. */
const BACKDATE_MS = 60_000;

x509.cryptoProvider.set(webcrypto);

/** Creates a certificate authority. */
export async function createAuthority(commonName: string, now: Instant): Promise<KeyPair> {
  const keys = await generateKeys();
  return { certificate: await selfSign(`CN=${commonName}`, keys, now), key: await exportKey(keys.privateKey) };
}

/** A new certificate of an authority, for the same name and key: a client that trusts one accepts what the other has signed. */
export async function renewAuthority({ certificate, key }: KeyPair, now: Instant): Promise<KeyPair> {
  const old = new x509.X509Certificate(certificate);
  const publicKey = await old.publicKey.export(ALGORITHM, ['verify']);
  const keys = { privateKey: await importKey(key), publicKey };
  return { certificate: await selfSign(old.subject, keys, now), key };
}

/** Whether a certificate is due for renewal. */
export function isNearItsEnd(certificate: string, now: Instant): boolean {
  const { notBefore, notAfter } = new x509.X509Certificate(certificate);
  return notAfter.getTime() - now < (notAfter.getTime() - notBefore.getTime()) * RENEWAL_PART;
}

async function selfSign(name: string, keys: webcrypto.CryptoKeyPair, now: Instant): Promise<string> {
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return certificate.toString('pem');
}

/** Issues a certificate by `authority` with a new key. */
export async function issueCertificate(authority: KeyPair, spec: CertificateSpec, now: Instant): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const keys = await generateKeys();
  const names: x509.JsonGeneralNames = [
    ...spec.dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...spec.ipAddresses.map((value) => ({ type: 'ip' as const, value })),
  ];
  const subject = new x509.Name([
    ...spec.organisations.map((organisation) => ({ O: [organisation] })),
    { CN: [spec.commonName] },
  ]);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerial(),
    subject: subject.toString(),
    issuer: issuer.subject,
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + FIXED_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(
        spec.usages.map((usage) =>
          usage === 'client' ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth,
        ),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

/** Checks whether a certificate, its key and `authority` match, and reads the certificate. */
export function inspectCertificate(authority: string, certificate: string, key: string): FoundCertificate {
  let leaf: NodeCertificate;
  try {
    leaf = new NodeCertificate(certificate);
    if (!leaf.checkPrivateKey(createPrivateKey(key))) return { state: 'unusable', why: 'its key is of another one' };
  } catch {
    // Invalid files are replaced; only Gantry writes them.
    return { state: 'unusable', why: 'its files are damaged' };
  }
  if (!leaf.verify(new NodeCertificate(authority).publicKey)) {
    return { state: 'unusable', why: 'it is of another certificate authority' };
  }
  const parsed = new x509.X509Certificate(certificate);
  const names = parsed.getExtension(x509.SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  return {
    state: 'usable',
    commonName: parsed.subjectName.getField('CN')[0] ?? '',
    organisations: parsed.subjectName.getField('O'),
    dnsNames: names.filter((name) => name.type === 'dns').map((name) => name.value),
    ipAddresses: names.filter((name) => name.type === 'ip').map((name) => name.value),
    notBefore: parsed.notBefore.getTime(),
    notAfter: parsed.notAfter.getTime(),
  };
}

/** Creates the key pair that signs and verifies service account tokens (PEM). */
export async function createTokenKeys(): Promise<{ readonly privateKey: string; readonly publicKey: string }> {
  const keys = await generateKeys();
  const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey);
  return { privateKey: await exportKey(keys.privateKey), publicKey: x509.PemConverter.encode(spki, 'PUBLIC KEY') };
}

/** Whether a private key and a public one (PEM) belong together. */
export function isPairOf(privateKey: string, publicKey: string): boolean {
  return createPublicKey(privateKey).equals(createPublicKey(publicKey));
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign']);
}

/** 127 random bits: positive and of constant length. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

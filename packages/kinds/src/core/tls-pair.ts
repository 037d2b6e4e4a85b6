import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { pemBlocks } from '../fields/pem.ts';

/** Why a server cannot use the certificate with the key (both PEM), worded as Go's library does; undefined if it can. */
export function tlsPairFault(certificatePem: Buffer, keyPem: Buffer): string | undefined {
  const certificates = pemBlocks(certificatePem);
  const certificate = certificates.find(({ type }) => type === 'CERTIFICATE');
  if (certificate === undefined) return missingCertificate(certificates.map(({ type }) => type));
  const keys = pemBlocks(keyPem);
  const key = keys.find(({ type }) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY'));
  if (key === undefined) return missingKey(keys.map(({ type }) => type));
  const publicKey = publicKeyOf(certificate.der);
  if (publicKey === undefined) return 'x509: malformed certificate';
  const privateKey = privateKeyOf(key.der);
  if (privateKey === undefined) return 'tls: failed to parse private key';
  if (privateKey.asymmetricKeyType !== publicKey.asymmetricKeyType) {
    return 'tls: private key type does not match public key type';
  }
  return createPublicKey(privateKey).equals(publicKey) ? undefined : 'tls: private key does not match public key';
}

function missingCertificate(skipped: readonly string[]): string {
  if (skipped.length === 0) return 'tls: failed to find any PEM data in certificate input';
  if (skipped.length === 1 && skipped[0]?.endsWith('PRIVATE KEY') === true) {
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function missingKey(skipped: readonly string[]): string {
  if (skipped.length === 0) return 'tls: failed to find any PEM data in key input';
  if (skipped.length === 1 && skipped[0] === 'CERTIFICATE') {
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function publicKeyOf(der: Buffer): KeyObject | undefined {
  try {
    return new X509Certificate(der).publicKey;
  } catch {
    return undefined;
  }
}

function privateKeyOf(der: Buffer): KeyObject | undefined {
  for (const type of ['pkcs1', 'pkcs8', 'sec1'] as const) {
    try {
      return createPrivateKey({ key: der, format: 'der', type });
    } catch {
      // The key does not have this form; try the next one.
    }
  }
  return undefined;
}

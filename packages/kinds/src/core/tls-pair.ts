import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';

interface PemBlock {
  readonly type: string;
  readonly der: Buffer;
}

/** Why a server cannot use the certificate with the key, both in PEM and in the words of Go's library; undefined when it can. */
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

/** Each line is looked at once, whatever stands in it: a Secret may be a megabyte of beginnings. */
function pemBlocks(pem: Buffer): PemBlock[] {
  const blocks: PemBlock[] = [];
  let open: { readonly type: string; readonly body: string[] } | undefined;
  for (const line of pem.toString('latin1').split('\n')) {
    const text = line.trimEnd();
    const type = /^-----BEGIN (.*)-----$/.exec(text)?.[1];
    if (type !== undefined) open = { type, body: [] };
    else if (open === undefined) continue;
    else if (text === `-----END ${open.type}-----`) {
      const body = open.body.join('');
      if (/^[A-Za-z0-9+/=\s]*$/.test(body)) blocks.push({ type: open.type, der: Buffer.from(body, 'base64') });
      open = undefined;
    } else if (open.body.length > 0 || !text.includes(':')) open.body.push(text);
  }
  return blocks;
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
      // Not in this form; the next may fit.
    }
  }
  return undefined;
}

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorMessage } from '@gantry/base';
import type { Secret } from '@gantry/objects';

/** The content of a Secret for a host. */
export type SecretContent =
  /** PEM of the certificates, the server's own first, and of the key. It is written from the parsed values. */
  | { readonly kind: 'certificate'; readonly pem: string }
  | { readonly kind: 'unusable'; readonly why: string }
  | { readonly kind: 'missing' }
  /** Not read yet. */
  | { readonly kind: 'unknown' };

/** The maximum size that fits in one command of HAProxy's socket, whose buffer has 32 KiB. */
const MAX_BYTES = 24_000;
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 4096;
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];
/** The strength of keys and signatures that HAProxy's OpenSSL from Debian requires. */
const STRENGTH = 'DEFAULT@SECLEVEL=2';

/**
 * Reads `tls.crt` and `tls.key`. The content is unusable if HAProxy would refuse it, or if it would take HAProxy much time at each
 * handshake.
 */
export function readCertificate(secret: Secret): SecretContent {
  try {
    return { kind: 'certificate', pem: parse(textOf(secret, 'tls.crt'), textOf(secret, 'tls.key')) };
  } catch (error) {
    return { kind: 'unusable', why: errorMessage(error) };
  }
}

class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

function textOf({ data }: Secret, field: string): string {
  const text = Buffer.from(data?.[field] ?? '', 'base64').toString('latin1');
  if (text === '') throw new CertificateError(`it has no ${field}`);
  if (text.length > MAX_BYTES) throw new CertificateError(`its ${field} is longer than ${MAX_BYTES} bytes`);
  return text;
}

function parse(certificates: string, keyText: string): string {
  const chain = (certificates.match(BLOCK) ?? []).map(parseCertificate);
  const [own] = chain;
  if (own === undefined) throw new CertificateError('its tls.crt has no certificate in PEM form');
  const key = parseKey(keyText);
  requireStrength(key);
  if (!own.checkPrivateKey(key))
    throw new CertificateError('its tls.key is not that of the first certificate in tls.crt');
  const cert = chain.map((certificate) => certificate.toString()).join('');
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  try {
    createSecureContext({ cert, key: pem, ciphers: STRENGTH });
  } catch (error) {
    throw new CertificateError(`its certificates are refused: ${errorMessage(error)}`);
  }
  if (cert.length + pem.length > MAX_BYTES) throw new CertificateError(`it is longer than ${MAX_BYTES} bytes`);
  return cert + pem;
}

function parseCertificate(block: string, index: number): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch {
    throw new CertificateError(`certificate ${index + 1} of its tls.crt cannot be read`);
  }
}

function parseKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    // OpenSSL's message tells nothing about the content, and may differ between versions.
    throw new CertificateError('its tls.key cannot be read: a PEM key without a passphrase is wanted');
  }
}

function requireStrength({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): void {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'rsa' && modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS) return;
  if (asymmetricKeyType === 'ec' && CURVES.includes(namedCurve)) return;
  const allowed = `RSA of ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, or ECDSA with P-256, P-384 or P-521`;
  throw new CertificateError(`its tls.key is of a kind that is not served: it must be ${allowed}`);
}

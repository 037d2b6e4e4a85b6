import { X509Certificate } from 'node:crypto';
import { type CertificateSigningRequest, type FieldError, invalid } from '@gantry/objects';
import { pemBlocks } from '../fields/pem.ts';

/** A fault that an object has already is tolerated, so that its conditions can still be changed. */
export function validateCertificate(object: CertificateSigningRequest, old?: CertificateSigningRequest): FieldError[] {
  const fault = certificateFault(object.status?.certificate ?? '');
  if (fault === '' || certificateFault(old?.status?.certificate ?? '') !== '') return [];
  return [invalid('status.certificate', '<certificate data>', fault)];
}

/** What is wrong with the issued certificate, as base64 text, in Kubernetes' words; '' for nothing, and for none. */
export function certificateFault(certificate: string): string {
  if (certificate === '') return '';
  const blocks = pemBlocks(Buffer.from(certificate, 'base64'));
  for (const { type, headers, der } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (headers === 'some') return 'no PEM block headers are permitted';
    if (der.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    if (!areCertificates(der)) return 'x509: malformed certificate';
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : '';
}

/** Whether the bytes are certificates, one behind the other, as Go reads them. */
function areCertificates(der: Buffer): boolean {
  return derSequences(der)?.every(isCertificate) === true;
}

function isCertificate(der: Buffer): boolean {
  try {
    // The library also reads a certificate in PEM from within the bytes: that has another length.
    return new X509Certificate(der).raw.length === der.length;
  } catch {
    return false;
  }
}

const SEQUENCE = 0x30;
const LONG_FORM = 0x80;
const MAX_LENGTH_BYTES = 4;

/**
 * The DER sequences that the bytes consist of, one behind the other; undefined where they consist of anything else. The parser of
 * certificates looks through all the bytes that it gets, so it gets each of them once.
 */
export function derSequences(der: Buffer): readonly Buffer[] | undefined {
  const found: Buffer[] = [];
  for (let at = 0; at < der.length; ) {
    const end = endOfSequence(der, at);
    if (end === undefined || end > der.length) return undefined;
    found.push(der.subarray(at, end));
    at = end;
  }
  return found;
}

/** Where the sequence that begins at `at` ends; undefined where none begins there. A length has the shortest form, as DER requires. */
function endOfSequence(der: Buffer, at: number): number | undefined {
  const first = der[at + 1];
  if (der[at] !== SEQUENCE || first === undefined) return undefined;
  if (first < LONG_FORM) return at + 2 + first;
  const bytes = first - LONG_FORM;
  const start = at + 2 + bytes;
  if (bytes === 0 || bytes > MAX_LENGTH_BYTES || start > der.length) return undefined;
  const length = der.readUIntBE(at + 2, bytes);
  const isShortest = length >= LONG_FORM && length >= 2 ** (8 * (bytes - 1));
  return isShortest ? start + length : undefined;
}

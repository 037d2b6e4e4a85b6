import { X509Certificate } from 'node:crypto';
import { type CertificateSigningRequest, type FieldError, invalid } from '@gantry/objects';
import { pemBlocks } from '../fields/pem.ts';

/** An error that the stored object already has is tolerated, so that its conditions can still change. */
export function validateCertificate(object: CertificateSigningRequest, old?: CertificateSigningRequest): FieldError[] {
  const fault = certificateFault(object.status?.certificate ?? '');
  if (fault === '' || certificateFault(old?.status?.certificate ?? '') !== '') return [];
  return [invalid('status.certificate', '<certificate data>', fault)];
}

/** Kubernetes' error about the issued certificate (base64 text); '' if it is valid or absent. */
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

/** Whether the bytes are a series of certificates, as Go reads them. */
function areCertificates(der: Buffer): boolean {
  return derSequences(der)?.every(isCertificate) === true;
}

function isCertificate(der: Buffer): boolean {
  try {
    // The library also finds PEM certificates inside the bytes; those have a different length.
    return new X509Certificate(der).raw.length === der.length;
  } catch {
    return false;
  }
}

const SEQUENCE = 0x30;
const LONG_FORM = 0x80;
const MAX_LENGTH_BYTES = 4;

/**
 * The DER sequences that the bytes consist of; undefined if they contain anything else. The certificate parser searches all bytes that it
 * gets, so it is given one sequence at a time.
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

/** The end of the sequence that starts at `at`; undefined if none starts there. Its length must have the shortest form, as DER requires. */
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

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { certificateLine, type RunFiles } from './configuration.ts';
import { ask, HaproxyError, type HostCertificate } from './proxy-state.ts';

/** The maximum number of certificates per call. Changed endpoints do not wait longer than these take. */
const MAX_AT_ONCE = 16;

type Certificates = ReadonlyMap<string, HostCertificate>;

/** The certificates of a running HAProxy. They are added one by one, so a refused certificate affects no other. */
export class CertificateStore {
  readonly #files: RunFiles;
  readonly #refused = new Map<string, string>();
  #taken = new Map<string, HostCertificate>();
  #isUnfinished = false;

  constructor(files: RunFiles) {
    this.#files = files;
  }

  /** Whether there are more certificates to add than one call adds. */
  get isUnfinished(): boolean {
    return this.#isUnfinished;
  }

  /** HAProxy's messages about refused certificates, by name. */
  get refused(): ReadonlyMap<string, string> {
    return this.#refused;
  }

  /** Returns the certificates of `wanted` that HAProxy has already accepted. */
  taken(wanted: Certificates): Certificates {
    return new Map([...wanted].filter(([name]) => this.#taken.has(name)));
  }

  /** Notes that a new worker has exactly these certificates. */
  async reset(certificates: Certificates): Promise<void> {
    for (const name of this.#taken.keys()) {
      if (!certificates.has(name)) await rm(this.#files.certificate(name), { force: true });
    }
    this.#taken = new Map(certificates);
  }

  /**
   * Adds some of the missing certificates. When all are added, removes unwanted ones. So a host whose certificate changes always has one.
   */
  async apply(wanted: Certificates, signal: AbortSignal): Promise<void> {
    for (const name of this.#refused.keys()) if (!wanted.has(name)) this.#refused.delete(name);
    const missing = [...wanted].filter(([name]) => !this.#taken.has(name) && !this.#refused.has(name));
    this.#isUnfinished = missing.length > MAX_AT_ONCE;
    for (const [name, certificate] of missing.slice(0, MAX_AT_ONCE)) {
      try {
        await this.#add(name, certificate, signal);
        this.#taken.set(name, certificate);
      } catch (error) {
        if (!(error instanceof HaproxyError)) throw error;
        this.#refused.set(name, error.message);
        await this.#forget(name, signal);
      }
    }
    if (this.#isUnfinished) return;
    for (const name of this.#taken.keys()) {
      if (wanted.has(name)) continue;
      await ask(this.#files.socket, `del ssl crt-list ${this.#files.certificateList} ${this.#path(name)}`, signal);
      await this.#forget(name, signal);
      this.#taken.delete(name);
    }
  }

  async #add(name: string, certificate: HostCertificate, signal: AbortSignal): Promise<void> {
    const path = this.#path(name);
    const line = certificateLine(this.#files, [name, certificate]);
    await this.#ask(`new ssl cert ${path}`, /^New empty certificate store/, signal);
    await this.#ask(`set ssl cert ${path} <<\n${certificate.pem}`, /^Transaction created/, signal);
    await this.#ask(`commit ssl cert ${path}`, /^Success!$/m, signal);
    await this.#ask(`add ssl crt-list ${this.#files.certificateList} <<\n${line}\n`, /^Success!$/m, signal);
  }

  async #ask(line: string, expected: RegExp, signal: AbortSignal): Promise<void> {
    const answer = await ask(this.#files.socket, line, signal);
    if (!expected.test(answer)) throw new HaproxyError(answer.replaceAll(this.#path(''), '').slice(0, 500));
  }

  /** Removes a certificate from HAProxy. The answer does not matter, because there may be none to remove. */
  async #forget(name: string, signal: AbortSignal): Promise<void> {
    await ask(this.#files.socket, `abort ssl cert ${this.#path(name)};del ssl cert ${this.#path(name)}`, signal);
    await rm(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return this.#files.certificate(name);
  }
}

/** A line of HAProxy's list has at most 64 words and some kilobytes. */
const MAX_HOSTS = 16;
const MAX_LENGTH = 1500;

/**
 * Groups PEM by host into lines of HAProxy's list, by the names of their files. Hosts with the same certificate share its memory in
 * HAProxy as far as they fit in a line. The name is a digest of the content, so a changed certificate has another name.
 */
export function certificateGroups(certificates: ReadonlyMap<string, string>): ReadonlyMap<string, HostCertificate> {
  const byPem = new Map<string, string[][]>();
  for (const [host, pem] of certificates) {
    const groups = byPem.get(pem) ?? [];
    byPem.set(pem, groups);
    const last = groups.at(-1);
    const hasRoom = last !== undefined && last.length < MAX_HOSTS && last.join(' ').length + host.length < MAX_LENGTH;
    if (hasRoom) last.push(host);
    else groups.push([host]);
  }
  const entries = [...byPem].flatMap(([pem, groups]) => groups.map((hosts): HostCertificate => ({ hosts, pem })));
  return new Map(entries.map((entry) => [`certificate-${digestOf(entry)}`, entry]));
}

function digestOf({ hosts, pem }: HostCertificate): string {
  return createHash('sha256')
    .update(`${hosts.join(' ')}\n${pem}`)
    .digest('hex');
}

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { certificateLine, type RunFiles } from './configuration.ts';
import { ask, HaproxyError, type HostCertificate } from './proxy-state.ts';

/** Endpoints that change meanwhile wait for no more than this. */
const MAX_AT_ONCE = 16;

type Certificates = ReadonlyMap<string, HostCertificate>;

/** The certificates of a running HAProxy. Each is given to it by itself, so that one that it refuses concerns no other. */
export class CertificateStore {
  readonly #files: RunFiles;
  readonly #refused = new Map<string, string>();
  #taken = new Map<string, HostCertificate>();
  #isUnfinished = false;

  constructor(files: RunFiles) {
    this.#files = files;
  }

  /** Whether there are more to give than were given at once. */
  get isUnfinished(): boolean {
    return this.#isUnfinished;
  }

  /** Messages of HAProxy about certificates that it does not take, by name. */
  get refused(): ReadonlyMap<string, string> {
    return this.#refused;
  }

  /** Those of `wanted` that HAProxy has taken before. */
  taken(wanted: Certificates): Certificates {
    return new Map([...wanted].filter(([name]) => this.#taken.has(name)));
  }

  /** A new worker has exactly these. */
  async reset(certificates: Certificates): Promise<void> {
    for (const name of this.#taken.keys()) {
      if (!certificates.has(name)) await rm(this.#files.certificate(name), { force: true });
    }
    this.#taken = new Map(certificates);
  }

  /**
   * Adds what is missing, some at once, and then removes what is not wanted: a host whose certificate changes has one at every moment.
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

  /** Removes what HAProxy has of a certificate. Its answer does not matter: there may be nothing. */
  async #forget(name: string, signal: AbortSignal): Promise<void> {
    await ask(this.#files.socket, `abort ssl cert ${this.#path(name)};del ssl cert ${this.#path(name)}`, signal);
    await rm(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return this.#files.certificate(name);
  }
}

/** A line of HAProxy's list takes 64 words and some kilobytes. */
const MAX_HOSTS = 16;
const MAX_LENGTH = 1500;

/**
 * PEM by host as lines of HAProxy's list, by the names of their files. The hosts of a certificate share its memory in HAProxy, as far as
 * they fit a line. A name is made of the content: a certificate that changes is another one.
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

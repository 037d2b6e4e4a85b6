import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, untilDone } from '@gantry/base';
import type { TlsMaterial, TlsSource } from './tls-source.ts';

/** The folder of `ca.crt`, `tls.crt` and `tls.key`; it is read again after changes. */
export interface TlsFolder extends TlsSource, Disposable {}

interface FolderOptions {
  readonly clock: Clock;
  readonly logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  /** Replaces `watch` of node:fs, the default. Throws where the kernel refuses. */
  readonly watchPath?: (path: string, options: { readonly persistent: false }, listener: () => void) => FSWatcher;
}

/** Delay between a change and the read, because the three files are not written at the same moment. */
const READ_DELAY_MS = 100;
/** Interval of reads that cover lost file events. */
const RELOAD_MS = 60_000;
const MISSING_RETRY_MS = 250;

/** Opens a folder of TLS files. Waits until it contains a certificate and its key; logs what is missing. */
export async function openTlsFolder(folder: string, options: FolderOptions, signal: AbortSignal): Promise<TlsFolder> {
  const { clock, logger } = options;
  const onReason = (reason: string) => logger.warn({ folder, reason }, 'waiting for TLS files');
  const read = async () => new WatchedTlsFolder(folder, await readTlsFolder(folder), options);
  return await untilDone({ clock, everyMs: MISSING_RETRY_MS, onReason }, read, signal);
}

/** Reads the three files once. Rejects when one is missing or the key does not belong to the certificate. */
export async function readTlsFolder(folder: string): Promise<TlsMaterial> {
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', 'tls.crt', 'tls.key'].map((file) => readFile(join(folder, file))),
  );
  if (ca === undefined || cert === undefined || key === undefined) throw new TlsFilesError('a file is missing');
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new TlsFilesError(`tls.key does not belong to tls.crt in ${folder}`);
  }
  return { ca, cert, key };
}

/** TLS files that do not belong together. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

class WatchedTlsFolder implements TlsFolder {
  readonly #folder: string;
  readonly #options: FolderOptions;
  readonly #listeners = new Set<(material: TlsMaterial) => void>();
  readonly #closeWatcher: () => void;
  #material: TlsMaterial;
  #cancelTimer: () => void;
  #closed: 'open' | 'closed' = 'open';

  constructor(folder: string, material: TlsMaterial, options: FolderOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#material = material;
    const watcher = this.#watch();
    this.#closeWatcher = () => watcher?.close();
    this.#cancelTimer = options.clock.setTimer(RELOAD_MS, () => this.#reload());
  }

  /** Undefined where the kernel cannot watch, such as at the limit of inotify instances. The files are then only read at intervals. */
  #watch(): FSWatcher | undefined {
    const { logger, watchPath = watch } = this.#options;
    const folder = this.#folder;
    const warn = (err: unknown) => logger.warn({ folder, err }, 'watching TLS files failed');
    try {
      return watchPath(folder, { persistent: false }, () => this.#reloadAfter(READ_DELAY_MS)).on('error', warn);
    } catch (error) {
      warn(error);
      return undefined;
    }
  }

  current(): TlsMaterial {
    return this.#material;
  }

  subscribe(listener: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#closed = 'closed';
    this.#cancelTimer();
    this.#closeWatcher();
    this.#listeners.clear();
  }

  #reloadAfter(delayMs: number): void {
    if (this.#closed === 'closed') return;
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.setTimer(delayMs, () => this.#reload());
  }

  #reload(): void {
    readTlsFolder(this.#folder).then(
      (material) => {
        this.#reloadAfter(RELOAD_MS);
        this.#replace(material);
      },
      (error: unknown) => {
        this.#options.logger.warn({ folder: this.#folder, reason: errorMessage(error) }, 'TLS files not reloaded');
        this.#reloadAfter(READ_DELAY_MS * 10);
      },
    );
  }

  #replace(material: TlsMaterial): void {
    const old = this.#material;
    if (this.#closed === 'closed') return;
    if (old.ca.equals(material.ca) && old.cert.equals(material.cert) && old.key.equals(material.key)) return;
    this.#material = material;
    this.#options.logger.info({ folder: this.#folder }, 'TLS files reloaded');
    for (const listener of this.#listeners) listener(material);
  }
}

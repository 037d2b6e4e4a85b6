import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '@gantry/base';
import { type Logger, replaceFile } from '@gantry/service';
import type { HostOwners } from '../rules/hosts.ts';

const FILE = 'hosts.json';

/**
 * Stores the owners of hosts in a file, so that they stay the same when this process restarts. Without the file, the age of Ingresses
 * decides.
 */
export class HostFile {
  readonly #folder: string;
  readonly #logger: Logger;
  #stored: HostOwners = new Map();

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  /** Reads the last stored owners. Returns none if there is no file. Also returns none, with a warning, if the file cannot be read. */
  async read(): Promise<HostOwners> {
    try {
      this.#stored = parse(await readFile(join(this.#folder, FILE), 'utf8'));
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing) this.#logger.warn({ reason: errorMessage(error) }, 'cannot read the owners of hosts');
    }
    return this.#stored;
  }

  /** Stores the owners if they have changed. A failure is logged, and the next call tries again. Serving does not depend on the file. */
  async write(owners: HostOwners): Promise<void> {
    if (isSame(owners, this.#stored)) return;
    const hosts = [...owners].map(([host, namespace]) => [namespace, host] as const);
    try {
      await mkdir(this.#folder, { recursive: true });
      await replaceFile(join(this.#folder, FILE), JSON.stringify(hosts));
      this.#stored = new Map(owners);
    } catch (error) {
      this.#logger.warn({ reason: errorMessage(error) }, 'cannot store the owners of hosts');
    }
  }
}

function parse(text: string): HostOwners {
  const entries: unknown = JSON.parse(text);
  if (!Array.isArray(entries)) throw new HostFileError(`${FILE} is no list`);
  return new Map(
    entries.map((entry: unknown) => {
      const [namespace, host]: readonly unknown[] = Array.isArray(entry) ? entry : [];
      if (typeof namespace === 'string' && typeof host === 'string') return [host, namespace];
      throw new HostFileError(`${FILE} has an entry that is no namespace with a host`);
    }),
  );
}

class HostFileError extends Error {
  override readonly name = 'HostFileError';
}

function isSame(one: HostOwners, other: HostOwners): boolean {
  return one.size === other.size && [...one].every(([host, namespace]) => other.get(host) === namespace);
}

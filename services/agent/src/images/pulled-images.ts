import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn, readIfThere } from '../files/if-there.ts';
import { repositoryOf, tagOf } from './image-name.ts';
import type { PullCredential } from './keyring.ts';

/** How an image came to this host: `anyone`'s pull, or one with a credential of a Secret. */
export type PullAccess = 'anyone' | { readonly secret: PullCredential['secret']; readonly hash: string };

/** One pull of an image by an agent of this cluster. */
export interface PullRecord {
  readonly reference: string;
  readonly access: PullAccess;
  /**
   * `there-before`: the host had the image already, not by a pull of this cluster. It is never removed. Absent in records of earlier
   * versions.
   */
  readonly origin?: 'pulled' | 'there-before';
}

/**
 * The images of this host that this cluster has pulled, and with which credentials: in a folder that the host's agents share. A pod
 * may use such an image only if it could have pulled it (kubelet's `imagePullCredentialsVerificationPolicy`). Images that are not in
 * here were there before, or were built on the host: every pod may use them, and nothing of ours removes them.
 */
export class PulledImages {
  readonly #folder: string;
  /** How many pulls of a reference this agent has under way. */
  readonly #intents = new Map<string, number>();
  #writes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Call it before a pull: an agent that ends during it leaves an image of unknown access. */
  async intend(reference: string): Promise<void> {
    this.#intents.set(reference, (this.#intents.get(reference) ?? 0) + 1);
    await this.#write(join(this.#folder, 'intents'), reference, reference);
  }

  /** After a pull. */
  async record(id: string, { reference, access, origin }: PullRecord): Promise<void> {
    const key = access === 'anyone' ? '' : `${access.secret.uid}/${access.hash}`;
    await this.#write(this.#of(id), `${reference}\n${key}`, JSON.stringify({ reference, access, origin }));
    await this.endIntent(reference);
  }

  /** After a pull that failed. Another one of this agent keeps the intent. */
  async endIntent(reference: string): Promise<void> {
    const others = (this.#intents.get(reference) ?? 1) - 1;
    if (others > 0) {
      this.#intents.set(reference, others);
      return;
    }
    this.#intents.delete(reference);
    await rm(join(this.#folder, 'intents', digest(reference)), { force: true });
  }

  /** Call it before `intend`: whether the host has an image, as it is before a pull, by a pull of this cluster. */
  async originOf(id: string, reference: string): Promise<'pulled' | 'there-before'> {
    const records = await this.recordsOf(id);
    const isOurs =
      records.length > 0 ? records.every(({ origin }) => origin === 'pulled') : this.#isIntended(reference);
    return (await isOurs) ? 'pulled' : 'there-before';
  }

  /**
   * Whether a pod may use an image of the host by this name without pulling it. `credentials` are the pod's for the name, and asked
   * for only when the image was pulled with some.
   */
  async mayUse(id: string, reference: string, credentials: () => Promise<readonly PullCredential[]>): Promise<boolean> {
    const records = await this.recordsOf(id);
    if (records.length === 0) return !(await this.#isIntended(reference));
    const repository = repositoryOf(reference);
    const here = records.filter((record) => repositoryOf(record.reference) === repository);
    if (here.some(({ access }) => access === 'anyone')) return true;
    if (here.length === 0) return false;
    const own = await credentials();
    return here.some(
      ({ access }) =>
        access !== 'anyone' && own.some(({ secret, hash }) => secret.uid === access.secret.uid || hash === access.hash),
    );
  }

  /** Notes that a container uses it: images that are used lately are not removed. Does nothing for one that is not recorded. */
  async touch(id: string, now: number): Promise<void> {
    try {
      await utimes(this.#of(id), now / 1000, now / 1000);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** When the last container that uses it was started, or it was pulled; 0 for one that is not recorded. */
  async lastUsedOf(id: string): Promise<number> {
    try {
      return (await stat(this.#of(id))).mtimeMs;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return 0;
    }
  }

  /** The host does not have it any more. */
  async forget(id: string): Promise<void> {
    await rm(this.#of(id), { recursive: true, force: true });
  }

  /** The pulls of an image; none for one that this cluster has not pulled. */
  async recordsOf(id: string): Promise<readonly PullRecord[]> {
    const records: PullRecord[] = [];
    for (const name of await namesIn(this.#of(id))) {
      // A name with a dot is of a file that is being written.
      if (name.includes('.')) continue;
      const text = await readIfThere(join(this.#of(id), name));
      if (text !== undefined) records.push(parseRecord(text));
    }
    return records;
  }

  /** Whether an agent of this host has a pull under way, or has ended during one. */
  async isPulling(): Promise<boolean> {
    const names = await namesIn(join(this.#folder, 'intents'));
    return names.some((name) => !name.includes('.'));
  }

  #of(id: string): string {
    return join(this.#folder, 'pulled', digest(id));
  }

  async #isIntended(reference: string): Promise<boolean> {
    const folder = join(this.#folder, 'intents');
    for (const name of await namesIn(folder)) {
      if (name.includes('.')) continue;
      const intended = await readIfThere(join(folder, name));
      if (intended !== undefined && mayBeOne(intended, reference)) return true;
    }
    return false;
  }

  /** Other agents of the host may write the same file at the same time: each version of it says the same. */
  async #write(folder: string, key: string, content: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, digest(key));
    this.#writes++;
    const next = `${path}.${process.pid}-${this.#writes}`;
    await writeFile(next, content, { mode: 0o600, flush: true });
    await rename(next, path);
  }
}

/** Of a pull whose record was lost: it is of no repository, so that no pod may use the image for it. */
const LOST: PullRecord = { reference: '', access: { secret: { uid: '', namespace: '', name: '' }, hash: '' } };

/** A file may be cut where the host has lost its power. */
function parseRecord(text: string): PullRecord {
  try {
    return JSON.parse(text) as PullRecord;
  } catch {
    return LOST;
  }
}

/** Whether two names can be of one image: the same tag of a repository, however it is written, or any digest of it. */
function mayBeOne(one: string, other: string): boolean {
  if (repositoryOf(one) !== repositoryOf(other)) return false;
  return tagOf(one) === tagOf(other) || one.includes('@') || other.includes('@');
}

/** A name that no image reference can change into a path. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

import { createHash } from 'node:crypto';
import { mkdir, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type NewUid, systemUid } from '@gantry/base';
import { replaceFile } from '@gantry/service';
import { isThere, namesIn, readIfThere } from '../files/if-there.ts';
import { repositoryOf, tagOf } from './image-name.ts';
import type { PullCredential } from './keyring.ts';

/** How an image came to this host: `anyone`'s pull, or one with a credential of a Secret. */
export type PullAccess = 'anyone' | { readonly secret: PullCredential['secret']; readonly hash: string };

/** Of the hash of an agent's name, which may have dots. */
const AGENT_LENGTH = 16;

type FindImage = () => Promise<string | undefined>;

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
 *
 * Each record is a file with a name of its own, `DIGEST-UID`; earlier versions wrote `DIGEST`. So `forget` removes the records that it is
 * given, and never one that an agent writes meanwhile.
 *
 * So are intents, `REFERENCE-AGENT`; earlier versions wrote `REFERENCE`. No agent ends the intent of another one: that may still pull, or
 * may have been killed after its engine brought the image. The next agent of the same name takes it over.
 */
export class PulledImages {
  readonly #folder: string;
  readonly #agent: string;
  /** How many pulls of a reference this agent has under way. */
  readonly #intents = new Map<string, number>();
  /** References whose intent a pull of this agent, or of the one before it, has left: it may have brought an image of unknown access. */
  readonly #left = new Set<string>();
  readonly #newUid: NewUid;

  /** `agent` is the name of this one among those of the host: its node's. */
  constructor(folder: string, agent: string, newUid = systemUid) {
    this.#folder = folder;
    this.#agent = digest(agent).slice(0, AGENT_LENGTH);
    this.#newUid = newUid;
  }

  /**
   * Call it before a pull: an agent that ends during it leaves an image of unknown access. Unless it rejects, one call of `record`,
   * `endIntent` or `leaveIntent` is to follow; the pull is not counted any more after that, also where the call rejects.
   */
  async intend(reference: string): Promise<void> {
    const others = this.#intents.get(reference) ?? 0;
    this.#intents.set(reference, others + 1);
    try {
      // Of an agent that was killed.
      if (others === 0 && (await isThere(this.#intentOf(reference)))) this.#left.add(reference);
      await this.#write(join(this.#folder, 'intents'), this.#intentName(reference), reference);
    } catch (error) {
      this.#countDown(reference);
      throw error;
    }
  }

  /** After a pull. It ends the intents that this agent has left, too. */
  async record(id: string, { reference, access, origin }: PullRecord): Promise<void> {
    const key = access === 'anyone' ? '' : `${access.secret.uid}/${access.hash}`;
    const name = digest(`${reference}\n${key}`);
    try {
      const older = (await this.recordNames(id)).filter((other) => other.split('-')[0] === name);
      await this.#write(this.#of(id), `${name}-${this.#newUid()}`, JSON.stringify({ reference, access, origin }));
      await this.#remove(id, older);
    } catch (error) {
      this.leaveIntent(reference);
      throw error;
    }
    await rm(join(this.#folder, 'intents', digest(reference)), { force: true });
    await this.endIntent(reference);
  }

  /**
   * After a pull that failed. Another one of this agent keeps the intent; so does one that has left it, while the host has the image
   * without a record: the refusal of a registry would let every pod use it. `findImage` gives the id that the host has by the name.
   */
  async endIntent(reference: string, findImage: FindImage = async () => undefined): Promise<void> {
    this.#countDown(reference);
    if (this.#left.has(reference)) {
      const id = await findImage();
      if (id !== undefined && (await this.recordNames(id)).length === 0) return;
    }
    if (this.#intents.has(reference)) return;
    this.#left.delete(reference);
    await rm(this.#intentOf(reference), { force: true });
  }

  /** After a pull that was aborted, or whose end is not known: its intent stays until the next pull of the reference ends. */
  leaveIntent(reference: string): void {
    this.#left.add(reference);
    this.#countDown(reference);
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

  /** The names of an image's records, for `forget`. */
  async recordNames(id: string): Promise<readonly string[]> {
    // A name with a dot is of a file that is being written.
    return (await namesIn(this.#of(id))).filter((name) => !name.includes('.'));
  }

  /** The host did not have the image any more after these were its records. Records of later pulls stay. */
  async forget(id: string, names: readonly string[]): Promise<void> {
    await this.#remove(id, names);
    try {
      await rmdir(this.#of(id));
    } catch (error) {
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }

  /** The pulls of an image; none for one that this cluster has not pulled. */
  async recordsOf(id: string): Promise<readonly PullRecord[]> {
    for (;;) {
      const names = await this.recordNames(id);
      const texts = await Promise.all(names.map((name) => readIfThere(join(this.#of(id), name))));
      const found = texts.filter((text) => text !== undefined);
      // One that has gone may have been replaced by one that the list did not have yet.
      if (found.length === texts.length) return found.map(parseRecord);
    }
  }

  /** Whether an agent of this host has a pull under way, or has ended during one. */
  async isPulling(): Promise<boolean> {
    const names = await namesIn(join(this.#folder, 'intents'));
    return names.some((name) => !name.includes('.'));
  }

  #countDown(reference: string): void {
    const others = (this.#intents.get(reference) ?? 1) - 1;
    if (others > 0) this.#intents.set(reference, others);
    else this.#intents.delete(reference);
  }

  #intentOf(reference: string): string {
    return join(this.#folder, 'intents', this.#intentName(reference));
  }

  #intentName(reference: string): string {
    return `${digest(reference)}-${this.#agent}`;
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

  /** Other agents of the host may write the same intent at the same time, and may remove an empty folder at any time. */
  async #write(folder: string, name: string, content: string): Promise<void> {
    const path = join(folder, name);
    const temporary = `${path}.${this.#newUid()}`;
    for (;;) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      try {
        await replaceFile(path, content, { mode: 0o600, temporary });
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }

  async #remove(id: string, names: readonly string[]): Promise<void> {
    for (const name of names) await rm(join(this.#of(id), name), { force: true });
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

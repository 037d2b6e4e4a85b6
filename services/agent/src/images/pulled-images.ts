import { createHash } from 'node:crypto';
import { mkdir, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type NewUid, systemUid } from '@gantry/base';
import { replaceFile } from '@gantry/service';
import { isThere, namesIn, readIfThere } from '../files/if-there.ts';
import { repositoryOf, tagOf } from './image-name.ts';
import type { PullCredential } from './keyring.ts';

/** Who may use a pulled image: `anyone` after an anonymous pull, otherwise owners of the Secret's credential. */
export type PullAccess = 'anyone' | { readonly secret: PullCredential['secret']; readonly hash: string };

/** Characters of the hash of an agent's name in the names of intents. The agent's name itself may contain dots. */
const AGENT_LENGTH = 16;

type FindImage = () => Promise<string | undefined>;

/** One pull of an image by an agent of this cluster. */
export interface PullRecord {
  readonly reference: string;
  readonly access: PullAccess;
  /**
   * `there-before`: the host already had the image, and not by a pull of this cluster. Such an image is never removed. Absent in
   * records of earlier versions.
   */
  readonly origin?: 'pulled' | 'there-before';
}

/**
 * Records which images of this host this cluster has pulled, and with which credentials. The host's agents share the folder of
 * records. A pod may use such an image only if it could have pulled it (kubelet's `imagePullCredentialsVerificationPolicy`).
 * Images without a record were on the host before, or were built there: every pod may use them, and the cluster never removes
 * them.
 *
 * Each record is a file with a unique name, `DIGEST-UID`; earlier versions wrote `DIGEST`. So `forget` removes exactly the given
 * records, and never one that an agent writes at the same time.
 *
 * Intents are files `REFERENCE-AGENT` with digests; earlier versions wrote `REFERENCE`. No agent ends the intent of another one,
 * which may still pull, or may have been killed after its engine brought the image. The next agent of the same name takes the
 * intent over.
 */
export class PulledImages {
  readonly #folder: string;
  readonly #agent: string;
  /** The number of this agent's running pulls by reference. */
  readonly #intents = new Map<string, number>();
  /**
   * References with an intent that an earlier pull left behind. That pull, of this agent or of its predecessor, may have brought
   * an image of unknown access.
   */
  readonly #left = new Set<string>();
  readonly #newUid: NewUid;

  /** `agent` is this agent's name on the host: the name of its node. */
  constructor(folder: string, agent: string, newUid = systemUid) {
    this.#folder = folder;
    this.#agent = digest(agent).slice(0, AGENT_LENGTH);
    this.#newUid = newUid;
  }

  /**
   * Call it before a pull. An agent that ends during the pull leaves an image of unknown access, and the intent shows that.
   * Unless `intend` rejects, call one of `record`, `endIntent` or `leaveIntent` afterwards, once. That call ends the counting of
   * this pull, even if it rejects.
   */
  async intend(reference: string): Promise<void> {
    const others = this.#intents.get(reference) ?? 0;
    this.#intents.set(reference, others + 1);
    try {
      // The intent of an earlier agent of this name that was killed.
      if (others === 0 && (await isThere(this.#intentOf(reference)))) this.#left.add(reference);
      await this.#write(join(this.#folder, 'intents'), this.#intentName(reference), reference);
    } catch (error) {
      this.#countDown(reference);
      throw error;
    }
  }

  /** Call it after a successful pull. Also ends the intents that this agent has left behind. */
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
   * Call it after a failed pull. The intent stays while this agent has another pull of the reference. It also stays when an
   * earlier pull left it behind and the host has the image without a record; otherwise the registry's refusal would let every pod
   * use the image. `findImage` returns the id of the host's image with this name.
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

  /**
   * Call it after a pull that was aborted or whose result is unknown. The intent stays until the next pull of the reference ends.
   */
  leaveIntent(reference: string): void {
    this.#left.add(reference);
    this.#countDown(reference);
  }

  /** How the host's image came there before this pull. Call it before `intend`. */
  async originOf(id: string, reference: string): Promise<'pulled' | 'there-before'> {
    const records = await this.recordsOf(id);
    const isOurs =
      records.length > 0 ? records.every(({ origin }) => origin === 'pulled') : this.#isIntended(reference);
    return (await isOurs) ? 'pulled' : 'there-before';
  }

  /**
   * Whether a pod may use the host's image by this name without pulling it. `credentials` are the pod's credentials for the name;
   * they are read only when the image was pulled with a credential.
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

  /** Marks the image as used at `now`; recently used images are not removed. Does nothing for an image without records. */
  async touch(id: string, now: number): Promise<void> {
    try {
      await utimes(this.#of(id), now / 1000, now / 1000);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /**
   * When the image was last pulled or a container that uses it was last started, in milliseconds; 0 for an image without records.
   */
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
    // Names with a dot are temporary files.
    return (await namesIn(this.#of(id))).filter((name) => !name.includes('.'));
  }

  /** Removes these records, after the host has lost the image. Records of later pulls stay. */
  async forget(id: string, names: readonly string[]): Promise<void> {
    await this.#remove(id, names);
    try {
      await rmdir(this.#of(id));
    } catch (error) {
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }

  /** The pulls of an image; empty for an image that this cluster has not pulled. */
  async recordsOf(id: string): Promise<readonly PullRecord[]> {
    for (;;) {
      const names = await this.recordNames(id);
      const texts = await Promise.all(names.map((name) => readIfThere(join(this.#of(id), name))));
      const found = texts.filter((text) => text !== undefined);
      // A missing file may have been replaced by a record that is not in the list.
      if (found.length === texts.length) return found.map(parseRecord);
    }
  }

  /** Whether an agent of this host is pulling, or has ended during a pull. */
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

  /** Retries: other agents of the host may write the same file at the same time, and may remove an empty folder at any time. */
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

/** Stands for a record that cannot be read. It has no repository and no valid credential, so it lets no pod use the image. */
const LOST: PullRecord = { reference: '', access: { secret: { uid: '', namespace: '', name: '' }, hash: '' } };

/** A power failure of the host may truncate a record. */
function parseRecord(text: string): PullRecord {
  try {
    return JSON.parse(text) as PullRecord;
  } catch {
    return LOST;
  }
}

/** Whether two references may name the same image: equal repository and tag, or equal repository where one has a digest. */
function mayBeOne(one: string, other: string): boolean {
  if (repositoryOf(one) !== repositoryOf(other)) return false;
  return tagOf(one) === tagOf(other) || one.includes('@') || other.includes('@');
}

/** A file name that does not depend on the characters of an image reference. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '@gantry/service';
import { StoreError } from './object-store.ts';
import type { SealingKey, SealingKeys } from './sealing.ts';

/** The file in the folder of all apiservers: `{"keys": [{"id", "secret": base64 of 32 bytes}]}`, the current key first. */
export const KEY_FILE = 'keys.json';
const SECRET_BYTES = 32;

/** A folder has no usable keys. The message never contains a key. */
export class SealingKeyError extends Error {
  override readonly name = 'SealingKeyError';
}

/**
 * The keys of a folder. The next write and the next read use an added key: each sealed write, and each read with an unknown key, checks
 * whether the file was replaced. Throws SealingKeyError when there are no keys at the start.
 */
export function openSealingKeys(folder: string): SealingKeys {
  const path = join(folder, KEY_FILE);
  let version = versionOf(path);
  let keys = parseKeys(path, readFileSync(path, 'utf8'));
  const refresh = (): void => {
    const now = versionOf(path);
    if (now === version) return;
    keys = parseKeys(path, readFileSync(path, 'utf8'));
    version = now;
  };
  return {
    current: () => {
      storeFailure(refresh);
      return keys[0];
    },
    find: (id) => {
      const known = keys.find((key) => key.id === id);
      if (known !== undefined) return known;
      storeFailure(refresh);
      return keys.find((key) => key.id === id);
    },
  };
}

/** Adds a new current key, which seals values from now on. Returns its id. */
export async function addSealingKey(folder: string): Promise<string> {
  const keys = await readKeys(folder);
  const id = randomBytes(6).toString('hex');
  await writeKeys(folder, [{ id, secret: randomBytes(SECRET_BYTES) }, ...keys]);
  return id;
}

/** Removes all keys except the current one. Returns their ids. Values that they have sealed can never be read again. */
export async function forgetOldSealingKeys(folder: string): Promise<readonly string[]> {
  const [current, ...old] = await readKeys(folder);
  if (old.length > 0) await writeKeys(folder, [current]);
  return old.map(({ id }) => id);
}

type Keys = readonly [SealingKey, ...SealingKey[]];

/** The ids of all keys, the current one first. */
export async function sealingKeyIds(folder: string): Promise<readonly string[]> {
  return (await readKeys(folder)).map(({ id }) => id);
}

async function readKeys(folder: string): Promise<Keys> {
  const path = join(folder, KEY_FILE);
  return parseKeys(path, await readFile(path, 'utf8'));
}

async function writeKeys(folder: string, keys: Keys): Promise<void> {
  const shown = keys.map(({ id, secret }) => ({ id, secret: Buffer.from(secret).toString('base64') }));
  const temporary = join(folder, `.${KEY_FILE}.new`);
  await replaceFile(join(folder, KEY_FILE), `${JSON.stringify({ keys: shown })}\n`, { mode: 0o600, temporary });
}

/** Identifies the version of a file. A file that is replaced by a rename has another version. */
function versionOf(path: string): string {
  const { ino, mtimeMs, size } = statSync(path);
  return `${ino} ${mtimeMs} ${size}`;
}

function parseKeys(path: string, text: string): Keys {
  const [first, ...more] = (contentOf(path, text).keys ?? []).map(({ id, secret }, index): SealingKey => {
    const bytes = Buffer.from(typeof secret === 'string' ? secret : '', 'base64');
    if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > 255 || bytes.length !== SECRET_BYTES) {
      throw new SealingKeyError(`${path}: keys[${index}] needs an id, and a secret of ${SECRET_BYTES} bytes in base64`);
    }
    return { id, secret: bytes };
  });
  if (first === undefined) throw new SealingKeyError(`${path}: keys is empty`);
  return [first, ...more];
}

function contentOf(path: string, text: string): { readonly keys?: readonly { id?: unknown; secret?: unknown }[] } {
  try {
    return JSON.parse(text) as ReturnType<typeof contentOf>;
  } catch {
    // The message of the parser would quote the file and so reveal keys.
    throw new SealingKeyError(`${path} is not JSON`);
  }
}

/** Converts errors of reading the file to StoreErrors. */
function storeFailure(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new StoreError('unavailable', 'the sealing keys cannot be read', { cause: error });
  }
}

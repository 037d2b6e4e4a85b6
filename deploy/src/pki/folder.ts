import { lchown, lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `secret` files are readable by the owner only. */
export type Secrecy = 'secret' | 'public';

/** A folder of small files, written atomically. */
export interface Folder {
  /** The file's text; undefined when it does not exist. */
  read(file: string): Promise<string | undefined>;
  write(file: string, text: string, secrecy: Secrecy): Promise<void>;
}

/** Ids of a user and of its group. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Creates a folder when missing, and gives it to `owner` with everything in it. A folder that has the owner already is not
 * read: its content changed hands before it did.
 */
export async function ensureOwner(path: string, owner: Owner): Promise<void> {
  await mkdir(path, { recursive: true });
  const { uid, gid } = await lstat(path);
  if (uid === owner.uid && gid === owner.gid) return;
  // Deepest first: the folder's own owner says that all of it is done.
  const entries = await readdir(path, { recursive: true });
  for (const entry of entries.toReversed()) await lchown(join(path, entry), owner.uid, owner.gid);
  await lchown(path, owner.uid, owner.gid);
}

/** Opens a folder and creates it when missing. The folder and its files belong to `owner`. */
export async function openFolder(path: string, owner: Owner): Promise<Folder> {
  await ensureOwner(path, owner);
  return {
    read: async (file) => {
      try {
        return await readFile(join(path, file), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    write: async (file, text, secrecy) => {
      const temporary = join(path, `.${file}.new`);
      await writeFile(temporary, text, { mode: secrecy === 'secret' ? 0o600 : 0o644 });
      await lchown(temporary, owner.uid, owner.gid);
      await rename(temporary, join(path, file));
    },
  };
}

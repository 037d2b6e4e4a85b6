import { chown, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `secret` files are readable by the owner only. */
export type Secrecy = 'secret' | 'public';

/** A folder of small files, written atomically. */
export interface Folder {
  /** The file's text; undefined when it does not exist. */
  read(file: string): Promise<string | undefined>;
  write(file: string, text: string, secrecy: Secrecy): Promise<void>;
}

/** Opens a folder and creates it when missing. The folder and its files belong to `owner`. */
export async function openFolder(path: string, owner: { readonly uid: number; readonly gid: number }): Promise<Folder> {
  await mkdir(path, { recursive: true });
  await chown(path, owner.uid, owner.gid);
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
      await chown(temporary, owner.uid, owner.gid);
      await rename(temporary, join(path, file));
    },
  };
}

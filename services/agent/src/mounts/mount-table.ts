import { readFile } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';

/** A mount of this process's mount namespace. */
export interface Mount {
  readonly path: string;
  readonly fileSystem: string;
  /** Whether mounts below it also appear in other namespaces, such as the engine's. */
  readonly propagation: 'shared' | 'none';
}

/** The mounts of this process's mount namespace. Reading them never blocks, even when a network server is unreachable. */
export async function mountTable(): Promise<readonly Mount[]> {
  return parseMountTable(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Reads the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)), in its order. */
export function parseMountTable(text: string): readonly Mount[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.split(' ');
      // Optional fields follow the sixth; a single hyphen ends them.
      const end = fields.indexOf('-', 6);
      const isShared = fields.slice(6, end).some((field) => field.startsWith('shared:'));
      return {
        path: unescape(fields[4] ?? ''),
        fileSystem: fields[end + 1] ?? '',
        propagation: isShared ? 'shared' : 'none',
      };
    });
}

/** The mounts at and below `folder`, last mounted first: the order for unmounting. */
export function mountsBelow(table: readonly Mount[], folder: string): readonly Mount[] {
  return table.filter(({ path }) => isWithin(path, folder)).toReversed();
}

/** The mount that contains `path`. */
export function mountOf(table: readonly Mount[], path: string): Mount | undefined {
  // For equally long paths, the last mount covers the earlier ones.
  return table
    .filter((mount) => isWithin(path, mount.path))
    .reduce<Mount | undefined>(
      (best, mount) => (mount.path.length >= (best?.path.length ?? 0) ? mount : best),
      undefined,
    );
}

function isWithin(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest !== '..' && !rest.startsWith('../') && !isAbsolute(rest);
}

/** The kernel escapes space, tab, newline and backslash as octal numbers. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** An fstab(5) entry that binds `source` to `target`, with an optional propagation. */
export function bindEntry(source: string, target: string, propagation?: 'private' | 'slave'): string {
  const options = propagation === undefined ? 'bind' : `bind,${propagation}`;
  return `${escape(source)} ${escape(target)} none ${options} 0 0\n`;
}

/** Escapes white space, which ends a field, `#`, which starts a comment, and backslash as octal numbers. */
function escape(text: string): string {
  return text.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

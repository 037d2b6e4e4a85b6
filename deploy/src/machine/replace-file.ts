import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file beside and renames it, so that a crash leaves the former or the new content. */
export function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

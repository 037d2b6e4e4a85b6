// Prints the packages that npm would install on this platform without a checksum to compare with: entries of the lock file in the
// current folder that have no integrity. npm installs such packages unverified. Runs with any Node.js from 18 on, before packages are there.
import { readFileSync } from 'node:fs';

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const glibc = process.report?.getReport().header.glibcVersionRuntime !== undefined;
const LIBC = process.platform === 'linux' ? (glibc ? 'glibc' : 'musl') : undefined;

/** npm's rule for `os`, `cpu` and `libc`: a list of names, or of excluded names that begin with an exclamation mark. */
function matches(list, own) {
  if (list === undefined || own === undefined) return true;
  const excluded = list.filter((name) => name.startsWith('!'));
  if (excluded.includes(`!${own}`)) return false;
  return excluded.length === list.length || list.includes(own);
}

for (const [path, entry] of Object.entries(packages)) {
  if (!path.includes('node_modules/') || entry.link === true || entry.integrity !== undefined) continue;
  if (matches(entry.os, process.platform) && matches(entry.cpu, process.arch) && matches(entry.libc, LIBC)) {
    console.log(`${path.slice(path.lastIndexOf('node_modules/') + 13)}@${entry.version}`);
  }
}

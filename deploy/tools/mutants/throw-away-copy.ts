import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The workspaces' scope: its links must lead into the copy, or one workspace would test the original of another. */
const OWN_SCOPE = '@gantry';

/** A copy of the checkout that a test run may change. Disposing removes it. */
export interface ThrowAwayCopy extends Disposable {
  readonly folder: string;
  /** Replaces a file until `restore`. */
  replace(file: string, content: string): void;
  restore(file: string): void;
}

/**
 * Copies what git tracks or would track, as it is in the working tree, into a new temporary folder. Packages are links to the
 * checkout's, except the workspaces', which are links within the copy.
 */
export function copyCheckout(root: string): ThrowAwayCopy {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-mutants-'));
  const dispose = () => rmSync(folder, { recursive: true, force: true });
  try {
    const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
    const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], options);
    for (const file of files.split('\0')) {
      if (file === '' || !existsSync(join(root, file))) continue;
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(root, file), join(folder, file), { dereference: false });
    }
    linkPackages(root, folder);
  } catch (error) {
    dispose();
    throw error;
  }
  return {
    folder,
    replace: (file, content) => writeFileSync(join(folder, file), content),
    restore: (file) => writeFileSync(join(folder, file), readFileSync(join(root, file))),
    [Symbol.dispose]: dispose,
  };
}

function linkPackages(root: string, folder: string): void {
  const packages = join(root, 'node_modules');
  mkdirSync(join(folder, 'node_modules', OWN_SCOPE), { recursive: true });
  for (const name of readdirSync(packages)) {
    // Hidden folders but .bin are caches, which are written to: each copy has its own.
    if (name !== OWN_SCOPE && (name === '.bin' || !name.startsWith('.')))
      symlinkSync(join(packages, name), join(folder, 'node_modules', name));
  }
  for (const name of readdirSync(join(packages, OWN_SCOPE))) {
    // npm's links are relative, so their copies lead to the copy's workspaces.
    symlinkSync(readlinkSync(join(packages, OWN_SCOPE, name)), join(folder, 'node_modules', OWN_SCOPE, name));
  }
  for (const parent of ['.', 'packages', 'services']) {
    for (const name of readdirSync(join(root, parent))) {
      const own = join(parent, name, 'node_modules');
      const isWorkspace = existsSync(join(folder, parent, name, 'package.json'));
      if (isWorkspace && existsSync(join(root, own))) symlinkSync(join(root, own), join(folder, own));
    }
  }
}

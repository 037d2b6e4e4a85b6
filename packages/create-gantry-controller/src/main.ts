import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ArgumentError, projectFile, projectNames } from './project.ts';

const run = promisify(execFile);
const PACKAGE = join(import.meta.dirname, '..');
const USAGE = `usage: npm create gantry-controller NAME [-- --kind KIND] [--group GROUP] [--operator FILE]

  NAME              the folder, and the name of the operator
  --kind KIND       the kind of its objects; made from NAME when absent
  --group GROUP     a DNS name that you own; example.com when absent
  --operator FILE   @gantry/operator as npm pack makes it; the one of the checkout, or the published one when absent
`;

/** Makes the project. Resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = readArguments(args);
    const [name] = positionals;
    if (name === undefined || positionals.length > 1) throw new ArgumentError(`one NAME is needed\n\n${USAGE}`);
    const names = projectNames(basename(name), values);
    const folder = resolve(name);
    await mkdir(folder);
    const packed = await placeOperator(folder, values.operator);
    for (const file of await readdir(join(PACKAGE, 'template'), { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const at = join(file.parentPath, file.name);
      const made = projectFile(at.slice(join(PACKAGE, 'template').length + 1), await readFile(at, 'utf8'), names);
      const text = packed === undefined ? made.text : made.text.replace('"^0.1.0"', JSON.stringify(`file:${packed}`));
      await mkdir(dirname(join(folder, made.path)), { recursive: true });
      await writeFile(join(folder, made.path), text);
    }
    process.stdout.write(`Made ${name}. Next:\n\n  cd ${name}\n  npm install\n  npm test\n  npm run dev\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof ArgumentError) && !isSystemError(error)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

interface Values {
  readonly kind?: string;
  readonly group?: string;
  readonly operator?: string;
}

function readArguments(args: readonly string[]): { readonly values: Values; readonly positionals: readonly string[] } {
  const options = { kind: { type: 'string' }, group: { type: 'string' }, operator: { type: 'string' } } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new ArgumentError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

/** Such as a folder that exists. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** Puts the package into the folder, unless the published one is to be used. Resolves with the name of its file. */
async function placeOperator(folder: string, given: string | undefined): Promise<string | undefined> {
  if (given !== undefined) {
    await copyFile(given, join(folder, basename(given)));
    return basename(given);
  }
  const checkout = join(PACKAGE, '../operator');
  const isCheckout = await stat(join(checkout, 'src')).then(
    () => true,
    () => false,
  );
  if (!isCheckout) return undefined;
  process.stdout.write('Packs @gantry/operator of the checkout.\n');
  await run('npm', ['run', '-s', 'bundle'], { cwd: checkout });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: checkout });
  const [packed] = JSON.parse(stdout) as [{ readonly filename: string }];
  return packed.filename;
}

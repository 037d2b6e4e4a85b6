/** Holds package.json and tsconfig.json of every workspace against the table of layers, and looks for skipped tests. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LAYERS } from './layers.ts';

interface Manifest {
  readonly name: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const readJson = <T>(file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as T;

const workspaces = (readJson<Manifest>('package.json').workspaces ?? []).flatMap((pattern) =>
  globSync(`${pattern}/package.json`, { cwd: root }).map(dirname),
);
const folderOf = new Map(workspaces.map((folder) => [readJson<Manifest>(join(folder, 'package.json')).name, folder]));
const problems: string[] = [];

for (const folder of workspaces) {
  const allowed = LAYERS[folder];
  if (allowed === undefined) problems.push(`${folder} is not in the table of layers`);
  const manifest = readJson<Manifest>(join(folder, 'package.json'));
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter((name) => name.startsWith('@gantry/'))
    .map((name) => folderOf.get(name) ?? name);
  for (const dependency of declared.filter((name) => !(allowed ?? []).includes(name))) {
    problems.push(`${folder}/package.json: ${folder} may not depend on ${dependency}`);
  }
  const references =
    readJson<{ references?: readonly { path: string }[] }>(join(folder, 'tsconfig.json')).references ?? [];
  const referenced = references.map(({ path }) => normalize(join(folder, path)));
  for (const missing of declared.filter((name) => !referenced.includes(name))) {
    problems.push(`${folder}/tsconfig.json: a reference to ${missing} is missing`);
  }
  for (const undeclared of referenced.filter((name) => !declared.includes(name))) {
    problems.push(`${folder}/tsconfig.json: ${undeclared} is referenced, but not declared in package.json`);
  }
}

const tests = globSync('{proto,packages/*,services/*,deploy,integration-tests}/src/**/*.test.ts', { cwd: root });
for (const file of tests) {
  const skipped = /\b(?:test|it|describe)\.(?:skip|only|todo)\b|\bretry:\s*[1-9]/.exec(
    readFileSync(join(root, file), 'utf8'),
  );
  if (skipped !== null) problems.push(`${file}: ${skipped[0]} is not allowed`);
}

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${workspaces.length} workspaces, ${tests.length} test files, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

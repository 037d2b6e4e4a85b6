/**
 * Checks package.json and tsconfig.json of every workspace against the table of layers, the imports between its folders
 * against the table of folders, that a workspace's index or main says what it is, and that no test is skipped.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { checkFolders, type SourceFile } from './folder-graph.ts';
import { FOLDERS } from './folders.ts';
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

/** A comment of some lines at the top: what the workspace is for, its parts, who uses it. */
const HEAD = /^(?:(?:\/\*\*| \*|\/\/).*\n){8}/;
for (const folder of workspaces) {
  for (const file of ['index.ts', 'main.ts'].map((name) => join(folder, 'src', name))) {
    if (!existsSync(join(root, file)) || HEAD.test(readFileSync(join(root, file), 'utf8'))) continue;
    problems.push(`${file}: does not begin with a comment about the workspace: its purpose, its parts, who uses it`);
  }
}

/** The TypeScript files of a workspace. What they import from outside of `src`, such as JSON, is left out. */
function sourcesOf(workspace: string): readonly SourceFile[] {
  const src = join(root, workspace, 'src');
  return globSync('**/*.ts', { cwd: src }).map((path) => {
    const text = readFileSync(join(src, path), 'utf8');
    const imports = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
    const within = imports.filter((name) => name.startsWith('.') && !join(dirname(path), name).startsWith('..'));
    return { path, imports: within };
  });
}

for (const folder of workspaces.filter((name) => existsSync(join(root, name, 'src')))) {
  const table = FOLDERS[folder];
  if (table === undefined) problems.push(`${folder} is not in the table of folders`);
  else problems.push(...checkFolders(sourcesOf(folder), table).map((problem) => `${folder}/src: ${problem}`));
}
for (const folder of Object.keys(FOLDERS).filter((name) => !workspaces.includes(name))) {
  problems.push(`the table of folders has ${folder}, which is no workspace`);
}

const tests = globSync(
  ['{proto,packages/*,services/*,deploy,integration-tests,bench}/src/**/*.test.ts', 'deploy/tools/**/*.test.ts'],
  {
    cwd: root,
  },
);
for (const file of tests) {
  const skipped = /\b(?:test|it|describe)\.(?:skip|only|todo)\b|\bretry:\s*[1-9]/.exec(
    readFileSync(join(root, file), 'utf8'),
  );
  if (skipped !== null) problems.push(`${file}: ${skipped[0]} is not allowed`);
}

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${workspaces.length} workspaces, ${tests.length} test files, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

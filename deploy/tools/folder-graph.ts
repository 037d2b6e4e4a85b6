/** Checks the imports between the folders of one workspace against a table. Pure: files come in as paths and their imports. */
import { posix } from 'node:path';

/** A file below `src`, and the relative imports in it (`./x.ts`, `../y/z.ts`), those of types too. */
export interface SourceFile {
  readonly path: string;
  readonly imports: readonly string[];
}

/**
 * The folders of a workspace's `src`, each with the folders that its files may import. `.` is the files directly in `src`.
 * A nested folder without a row of its own is part of the folder around it. A key or an entry `a/*` stands for every folder
 * directly in `a`; each of them is a folder of its own. A file may be a key too: the front door of a workspace is one.
 * No file may import a file that is a key.
 */
export type FolderTable = Readonly<Record<string, readonly string[] | typeof ANYTHING>>;

/** In place of a list: may import every folder. For front doors and for what puts a service together. */
export const ANYTHING = 'anything';

interface Import {
  readonly from: string;
  readonly to: string;
}

/** Imports by importing and imported folder. */
type FolderGraph = ReadonlyMap<string, ReadonlyMap<string, readonly Import[]>>;

/** What is wrong with the imports of a workspace: unlisted folders, forbidden imports, imports of test code, cycles. */
export function checkFolders(files: readonly SourceFile[], table: FolderTable): readonly string[] {
  const production = files.filter(({ path }) => !isTestCode(path));
  const graph = folderGraph(production, table);
  const folders = new Set(production.map(({ path }) => folderOf(path, table)));
  return [
    ...[...folders].sort().flatMap((folder) => unlisted(folder, table)),
    ...unusedRows(folders, table),
    ...importsOfTests(production),
    ...forbiddenImports(graph, table),
    ...cyclesOf(graph),
  ];
}

/** Tests, and what only tests use, may import every folder, and only tests may import them. */
function isTestCode(path: string): boolean {
  return path.endsWith('.test.ts') || /(^|\/)testing(\/|\.ts$)/.test(path);
}

/** The innermost folder around a file that has a row; the folder directly in `src` when none has. */
function folderOf(path: string, table: FolderTable): string {
  if (path in table) return path;
  let folder = posix.dirname(path);
  while (rowOf(folder, table) === undefined && posix.dirname(folder) !== '.') folder = posix.dirname(folder);
  return folder;
}

function targetOf(file: SourceFile, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(file.path), specifier));
}

function folderGraph(files: readonly SourceFile[], table: FolderTable): FolderGraph {
  const graph = new Map<string, Map<string, Import[]>>();
  for (const file of files) {
    const from = folderOf(file.path, table);
    for (const specifier of file.imports) {
      const target = targetOf(file, specifier);
      const to = folderOf(target, table);
      if (to === from || isTestCode(target)) continue;
      const row = graph.get(from) ?? new Map<string, Import[]>();
      graph.set(from, row);
      row.set(to, [...(row.get(to) ?? []), { from: file.path, to: target }]);
    }
  }
  return graph;
}

/** The row of a folder: its own, or that of its siblings. */
function rowOf(folder: string, table: FolderTable): FolderTable[string] | undefined {
  return table[folder] ?? (folder === '.' ? undefined : table[patternOf(folder)]);
}

function patternOf(folder: string): string {
  return posix.join(posix.dirname(folder), '*');
}

function unlisted(folder: string, table: FolderTable): readonly string[] {
  return rowOf(folder, table) === undefined ? [`folder ${folder} is not in the table`] : [];
}

/** Rows, and entries of rows, that no folder is meant by. */
function unusedRows(folders: ReadonlySet<string>, table: FolderTable): readonly string[] {
  const exists = (name: string): boolean =>
    name.endsWith('*') ? [...folders].some((folder) => patternOf(folder) === name) : folders.has(name);
  return Object.entries(table).flatMap(([name, allowed]) => [
    ...(exists(name) ? [] : [`the table has a row for ${name}, which does not exist`]),
    ...(allowed === ANYTHING ? [] : allowed)
      .filter((entry) => !exists(entry))
      .map((entry) => `the row for ${name} names ${entry}, which does not exist`),
  ]);
}

function importsOfTests(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) =>
    file.imports
      .map((specifier) => targetOf(file, specifier))
      .filter(isTestCode)
      .map((target) => `${file.path} imports ${target}, which is for tests`),
  );
}

function forbiddenImports(graph: FolderGraph, table: FolderTable): readonly string[] {
  return [...graph].flatMap(([from, row]) =>
    [...row].flatMap(([to, imports]) =>
      mayImport(from, to, table)
        ? []
        : imports.map((one) => `${one.from} imports ${one.to}: ${from} may not import ${to}`),
    ),
  );
}

function mayImport(from: string, to: string, table: FolderTable): boolean {
  if (to.endsWith('.ts')) return false;
  const allowed = rowOf(from, table);
  // A folder that is not listed is reported once, not for each of its imports.
  return allowed === undefined || allowed === ANYTHING || allowed.includes(to) || allowed.includes(patternOf(to));
}

/** One cycle through each folder that is in any, as the imports that make it. */
function cyclesOf(graph: FolderGraph): readonly string[] {
  const reported = new Set<string>();
  return [...graph.keys()].sort().flatMap((start) => {
    if (reported.has(start)) return [];
    const cycle = shortestCycle(start, graph);
    if (cycle === undefined) return [];
    for (const folder of cycle) reported.add(folder);
    return [[`cycle of folders: ${[...cycle, start].join(' -> ')}`, ...importsOf(cycle, graph)].join('\n')];
  });
}

/** The folders of a shortest cycle from `start` back to it, by breadth-first search. */
function shortestCycle(start: string, graph: FolderGraph): readonly string[] | undefined {
  const paths: (readonly string[])[] = [[start]];
  const seen = new Set<string>();
  for (const path of paths) {
    for (const next of graph.get(path.at(-1) ?? start)?.keys() ?? []) {
      if (next === start) return path;
      if (seen.has(next)) continue;
      seen.add(next);
      paths.push([...path, next]);
    }
  }
  return undefined;
}

function importsOf(cycle: readonly string[], graph: FolderGraph): readonly string[] {
  return cycle.flatMap((folder, i) => {
    const next = cycle[(i + 1) % cycle.length] ?? folder;
    return (graph.get(folder)?.get(next) ?? []).map((one) => `    ${one.from} imports ${one.to}`);
  });
}

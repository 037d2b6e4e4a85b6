import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A file of TypeScript; `path` is relative to the folder that is measured, with `/` between its parts. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Folders that hold no code of the codebase itself: installed, built or generated. */
const OMITTED = /^(?:\..*|node_modules|dist|dist-.*|build|coverage|vendor|gen|generated|__generated__)$/;
const TYPESCRIPT = /(?<!\.d)(?<!\.d\.json)\.[mc]?tsx?$/;
const TEST = /(?:^|\/)(?:[^/]*\.(?:test|spec)\.[^/]*|(?:testing|tests?|__tests__|integration-tests|e2e|bench)\/.*)$/;

/** Whether a file is part of the tests: by its name, or by a folder of tests, test support or measurements. */
export function isTest(path: string): boolean {
  return TEST.test(path);
}

/** All TypeScript files in a folder, in the order of their paths; a file that is named itself is taken as it is. */
export function readSourceFiles(folder: string): readonly SourceFile[] {
  return pathsIn(folder)
    .map((path) => ({ path: relative(folder, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function pathsIn(folder: string): readonly string[] {
  if (!statSync(folder).isDirectory()) return [folder];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return OMITTED.test(entry.name) ? [] : pathsIn(join(folder, entry.name));
    return entry.isFile() && TYPESCRIPT.test(entry.name) ? [join(folder, entry.name)] : [];
  });
}

import { cyclesOf, graphOfFiles, graphOfFolders } from './cycles.ts';
import { ANONYMOUS, type FileShape, measureFile } from './measure-file.ts';
import { repeatedRuns } from './repeated-runs.ts';
import { isTest, type SourceFile } from './source-files.ts';

/** The numbers of a codebase. Tests are left out where nothing else is said. */
export interface CodeShape {
  readonly files: number;
  readonly fileMedian: number;
  readonly fileLongest: number;
  /** Functions that have a name and more than one line. */
  readonly functions: number;
  readonly functionMedian: number;
  /** Callbacks without a name are counted here too. */
  readonly functionsOver50: number;
  readonly functionLongest: number;
  /** In percent of `functions`. */
  readonly functionsOver3Parameters: number;
  /** In tests too. */
  readonly nestedFourDeep: number;
  readonly interfaceLargest: number;
  /** In percent of all exported declarations. */
  readonly exportsDocumented: number;
  readonly forcedCasts: number;
  readonly fileCycles: number;
  readonly folderCycles: number;
  readonly foldersInCycles: number;
  readonly repeatedRuns: number;
  /** Lines of tests for each line of code. */
  readonly testShare: number;
}

/** Where the numbers come from: one line for each place, the worst first. */
export type Places = Readonly<Record<string, readonly string[]>>;

const LONG = 50;
const PARAMETERS = 3;

/** Measures the files of one codebase. */
export function measureCode(sources: readonly SourceFile[]): { readonly shape: CodeShape; readonly places: Places } {
  const code = sources.filter(({ path }) => !isTest(path));
  const files = code.map(measureFile);
  const tests = sources.filter(({ path }) => isTest(path)).map(measureFile);
  const bodies = files.flatMap((file) =>
    file.functions.map((shape) => ({ ...shape, at: `${file.path}:${shape.line}` })),
  );
  const functions = bodies.filter(({ name, lines }) => name !== ANONYMOUS && lines > 1);
  const interfaces = files.flatMap((file) =>
    file.interfaces.map((shape) => ({ ...shape, at: `${file.path}:${shape.line}` })),
  );
  const exported = files.flatMap((file) => file.exports.map((name) => ({ ...name, at: `${file.path}:${name.line}` })));
  const long = bodies.filter(({ lines }) => lines > LONG);
  const many = functions.filter(({ parameters }) => parameters > PARAMETERS);
  const graph = graphOfFiles(files);
  const fileCycles = cyclesOf(graph);
  const folderCycles = cyclesOf(graphOfFolders(graph));
  const repeated = repeatedRuns(
    code.map((file, index) => ({ ...file, omitted: files[index]?.importLines ?? new Set() })),
  );
  const bare = exported.filter(({ documented }) => !documented);
  const lines = sum(files.map((file) => file.lines));
  const testLines = sum(tests.map((file) => file.lines));
  return {
    shape: {
      files: files.length,
      fileMedian: median(files.map((file) => file.lines)),
      fileLongest: largest(files.map((file) => file.lines)),
      functions: functions.length,
      functionMedian: median(functions.map((shape) => shape.lines)),
      functionsOver50: long.length,
      functionLongest: largest(bodies.map((shape) => shape.lines)),
      functionsOver3Parameters: percent(many.length, functions.length),
      nestedFourDeep: sum([...files, ...tests].map(({ deepLines }) => deepLines.length)),
      interfaceLargest: largest(interfaces.map(({ methods }) => methods)),
      exportsDocumented: percent(exported.length - bare.length, exported.length),
      forcedCasts: sum(files.map(({ forcedCasts }) => forcedCasts.length)),
      fileCycles: fileCycles.length,
      folderCycles: folderCycles.length,
      foldersInCycles: folderCycles.flat().length,
      repeatedRuns: repeated.length,
      testShare: lines === 0 ? 0 : round(testLines / lines),
    },
    places: {
      'functions over 50 lines': worst(long, ({ lines: size }) => size).map(
        (it) => `${it.at} ${it.name} (${it.lines})`,
      ),
      'more than three parameters': worst(many, ({ parameters }) => parameters).map(
        (it) => `${it.at} ${it.name} (${it.parameters})`,
      ),
      'nested four deep': at([...files, ...tests], ({ deepLines }) => deepLines),
      'as unknown as': at(files, ({ forcedCasts }) => forcedCasts),
      'large interfaces': worst(interfaces, ({ methods }) => methods)
        .filter(({ methods }) => methods > 6)
        .map((it) => `${it.at} ${it.name} (${it.methods})`),
      'exports without a comment': bare.map((it) => `${it.at} ${it.name}`),
      'cycles of files': fileCycles.map((cycle) => cycle.join(' ')),
      'cycles of folders': folderCycles.map((cycle) => cycle.join(' ')),
      'repeated lines': worst(repeated, (run) => run.lines).map(
        (it) => `${it.path}:${it.line} (${it.lines} lines, as in ${it.first.path}:${it.first.line})`,
      ),
    },
  };
}

function at(files: readonly FileShape[], linesOf: (file: FileShape) => readonly number[]): readonly string[] {
  return files.flatMap((file) => linesOf(file).map((line) => `${file.path}:${line}`));
}

function worst<T>(items: readonly T[], sizeOf: (item: T) => number): readonly T[] {
  return items.toSorted((one, other) => sizeOf(other) - sizeOf(one));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10;
}

function round(value: number): number {
  return Math.round(100 * value) / 100;
}

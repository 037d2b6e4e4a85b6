/** What the command keeps between runs, all in one ignored folder. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../machine/replace-file.ts';
import { type JunitCase, parseJunit } from './junit.ts';
import { formatRunState, parseRunState, type RunState } from './run-state.ts';
import { type DatedResult, mergeResults } from './test-result.ts';

/** One folder; files are replaced whole, so that an interruption at any instant leaves the old or the new. */
export class Store {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** What `e2e.log`, `junit_01.xml`, PRODUCT.yaml and README.md are written to. */
  get archive(): string {
    return this.#ensure('archive');
  }

  /** Where the cluster of the run keeps its settings. */
  get cluster(): string {
    return this.#ensure('cluster');
  }

  /** The folder for the reports of one start of Ginkgo. */
  reports(start: number): string {
    return this.#ensure(join('reports', String(start)));
  }

  /** The cases of all reports of the current run, in the order of their starts. */
  cases(): readonly JunitCase[] {
    const folder = this.#ensure('reports');
    return readdirSync(folder)
      .toSorted((one, other) => Number(one) - Number(other))
      .map((start) => join(folder, start, 'junit_01.xml'))
      .filter((file) => existsSync(file))
      .flatMap((file) => parseJunit(readFileSync(file, 'utf8')));
  }

  /** Forgets the reports and the archive of the run before, of which only the results are kept. */
  clearRun(release: string): void {
    this.writeResults(release, this.readResults(release));
    for (const part of ['reports', 'archive', 'run.json']) {
      rmSync(join(this.#folder, part), { recursive: true, force: true });
    }
  }

  readRun(): RunState | undefined {
    const text = this.#read('run.json');
    return text === undefined ? undefined : parseRunState(text);
  }

  writeRun(state: RunState): void {
    this.#write('run.json', formatRunState(state));
  }

  /** The last result of each test that was ever run from this checkout against this release, also by a run that was killed. */
  readResults(release: string): ReadonlyMap<string, DatedResult> {
    const text = this.#read(`results-${release}.json`);
    const results = text === undefined ? [] : (JSON.parse(text) as readonly DatedResult[]);
    const earlier = new Map(results.map((result) => [result.name, result]));
    return mergeResults(earlier, this.readRun()?.results.values() ?? []);
  }

  writeResults(release: string, results: ReadonlyMap<string, DatedResult>): void {
    this.#write(`results-${release}.json`, `${JSON.stringify([...results.values()], null, 1)}\n`);
  }

  writePage(page: string): string {
    return this.#write('page.md', page);
  }

  #ensure(part: string): string {
    const folder = join(this.#folder, part);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  #read(name: string): string | undefined {
    const file = join(this.#folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  #write(name: string, text: string): string {
    const file = join(this.#folder, name);
    replaceFile(file, text);
    return file;
  }
}

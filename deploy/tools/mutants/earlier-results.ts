import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Mutant } from './mutant.ts';

/** A mutant that some test has killed. */
export interface Kill {
  readonly test: string;
  readonly seconds: number;
}

/** Kills of earlier runs, which a run with `--resume` does not repeat while the mutant and its files are the same. */
export class EarlierResults {
  readonly #path: string;
  readonly #read: (file: string) => string;
  readonly #kills: Map<string, Kill>;

  constructor(path: string, read: (file: string) => string) {
    this.#path = path;
    this.#read = read;
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '{}';
    this.#kills = new Map(Object.entries(JSON.parse(text) as Record<string, Kill>));
  }

  find(mutant: Mutant): Kill | undefined {
    return this.#kills.get(this.#keyOf(mutant));
  }

  /** Written at once, so that an interrupted run can be resumed. */
  add(mutant: Mutant, kill: Kill): void {
    this.#kills.set(this.#keyOf(mutant), kill);
    writeFileSync(this.#path, `${JSON.stringify(Object.fromEntries(this.#kills))}\n`);
  }

  clear(): void {
    this.#kills.clear();
  }

  #keyOf(mutant: Mutant): string {
    const hash = createHash('sha256').update(JSON.stringify(mutant));
    for (const file of [mutant.file, ...mutant.tests]) hash.update('\0').update(this.#read(file));
    return hash.digest('hex').slice(0, 32);
  }
}

import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { replaceFile } from '../machine/replace-file.ts';
import type { UndoStep } from './undo.ts';

/** What a campaign has changed and not undone yet. */
export interface JournalContent {
  /** Of the campaign's process. */
  readonly pid: number;
  /** Of the workloads; '' before there is one. */
  readonly namespace: string;
  readonly faults: readonly { readonly id: string; readonly steps: readonly UndoStep[] }[];
}

/** The file of a cluster that says how to undo what a campaign does. It exists while a campaign runs, and after one that was killed. */
export class Journal {
  readonly #file: string;
  #content: JournalContent;

  constructor(config: CommandConfig, pid: number) {
    this.#file = journalFile(config);
    this.#content = { pid, namespace: '', faults: [] };
  }

  /** All steps, those of later faults last. */
  get steps(): readonly UndoStep[] {
    return this.#content.faults.flatMap(({ steps }) => steps);
  }

  stepsOf(fault: string): readonly UndoStep[] {
    return this.#content.faults.filter(({ id }) => id === fault).flatMap(({ steps }) => steps);
  }

  begin(namespace: string): void {
    this.#write({ ...this.#content, namespace });
  }

  add(fault: string, steps: readonly UndoStep[]): void {
    this.#write({ ...this.#content, faults: [...this.#content.faults, { id: fault, steps }] });
  }

  /** After the fault's steps were run. */
  drop(fault: string): void {
    this.#write({ ...this.#content, faults: this.#content.faults.filter(({ id }) => id !== fault) });
  }

  /** After everything was undone. */
  end(): void {
    this.#content = { ...this.#content, faults: [] };
    rmSync(this.#file, { force: true });
  }

  #write(content: JournalContent): void {
    this.#content = content;
    mkdirSync(dirname(this.#file), { recursive: true });
    replaceFile(this.#file, JSON.stringify(content));
  }
}

export const chaosFolder = (config: CommandConfig) => join(config.home, 'chaos');
const journalFile = (config: CommandConfig) => join(chaosFolder(config), 'journal.json');

/** What a campaign that was killed has left, or the one that runs; undefined if there is nothing. Throws CommandError if it cannot be read. */
export function readJournal(config: CommandConfig): JournalContent | undefined {
  const file = journalFile(config);
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JournalContent;
  } catch {
    throw new CommandError(`${file} is not JSON`, 'restart the containers of the cluster and remove the file');
  }
}

export function removeJournal(config: CommandConfig): void {
  rmSync(journalFile(config), { force: true });
}

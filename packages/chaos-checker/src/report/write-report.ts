import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { check } from '../check.ts';
import { readLines, readRun } from '../read-artifacts.ts';
import type { Verdict } from '../verdict.ts';
import { htmlReport } from './html-report.ts';
import { SummaryObserver } from './summary.ts';

const MAX_LINES = 2000;
/** A line of the history may be large; its beginning shows what it is. */
const MAX_CHARACTERS = 2000;

/** Checks a run and writes its report to a file. Throws an ArtifactError. */
export async function writeReport(folder: string, file: string): Promise<Verdict> {
  const run = await readRun(folder);
  const observers: SummaryObserver[] = [];
  const verdict = await check(folder, (world) => {
    observers.push(new SummaryObserver(run, world));
    return observers;
  });
  const [observer] = observers;
  if (observer !== undefined)
    await writeFile(file, htmlReport(observer.summary(), verdict, await readEvidence(folder, verdict)));
  return verdict;
}

/** The lines of the artefacts that violations name. */
async function readEvidence(folder: string, { invariants }: Verdict): Promise<ReadonlyMap<string, string>> {
  const places = invariants
    .flatMap(({ violations }) => violations.flatMap(({ evidence }) => evidence))
    .slice(0, MAX_LINES);
  const lines = new Map<string, string>();
  const byFile = Map.groupBy(new Set(places), (place) => place.slice(0, place.lastIndexOf(':')));
  for (const [file, wanted] of byFile) {
    const left = new Set(wanted);
    for await (const [content, { line }] of readLines(folder, file, z.unknown())) {
      if (!left.delete(`${file}:${line}`)) continue;
      const text = JSON.stringify(content);
      lines.set(`${file}:${line}`, text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text);
      if (left.size === 0) break;
    }
  }
  return lines;
}

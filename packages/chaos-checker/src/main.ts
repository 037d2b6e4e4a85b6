import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { check, checkUntil } from './check.ts';
import { writeReport } from './report/write-report.ts';
import { ArtifactError } from './read-artifacts.ts';
import { exitCodeOf, formatVerdict } from './verdict-text.ts';
import type { FollowAnswer } from './verdict.ts';

const USAGE = `usage: npm run chaos -- check [--json] [--report FILE] RUN
       npm run chaos -- check --follow RUN
Checks the artefacts of a run of faults, in the folder RUN. --report writes a page of HTML with pictures and evidence. Exit code: 0 no violation, 1 violations, 2 unusable artefacts.
--follow checks a run that is still recorded: for each line of standard input, a time in milliseconds, it writes a line of JSON about what is recorded before.
`;

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = {
    json: { type: 'boolean' },
    follow: { type: 'boolean' },
    report: { type: 'string' },
    help: { type: 'boolean' },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [folder] = positionals;
  if (values.help === true || folder === undefined || positionals.length > 1) {
    process.stderr.write(USAGE);
    return values.help === true ? 0 : 2;
  }
  // npm changes to the root of the checkout: paths are relative to where the user is.
  const resolve = (file: string) => path.resolve(process.env['INIT_CWD'] ?? '.', file);
  const run = resolve(folder);
  if (values.follow === true) return await follow(run);
  const verdict = values.report === undefined ? await check(run) : await writeReport(run, resolve(values.report));
  process.stdout.write(`${values.json === true ? JSON.stringify(verdict, undefined, 2) : formatVerdict(verdict)}\n`);
  return exitCodeOf(verdict);
}

/** Answers until the end of standard input: Ctrl-C is for the campaign, which heals the cluster first. */
async function follow(run: string): Promise<number> {
  process.on('SIGINT', () => undefined);
  for await (const line of createInterface({ input: process.stdin })) {
    const untilMs = Number(line);
    if (line.trim() === '' || !Number.isFinite(untilMs))
      throw new ArtifactError(`${JSON.stringify(line)} is not a time`);
    process.stdout.write(`${JSON.stringify(await answer(run, untilMs))}\n`);
  }
  return 0;
}

/** With the processor time that it took. Files that are not there yet, or cannot be read, are a problem of this answer alone. */
async function answer(run: string, untilMs: number): Promise<FollowAnswer> {
  const before = process.cpuUsage();
  const tookMs = () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  try {
    const verdict = await checkUntil(run, untilMs);
    return { ...verdict, cpuMs: tookMs() };
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    return { untilMs, problem: error.message, cpuMs: tookMs() };
  }
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  // parseArgs throws a TypeError for an unknown option.
  const isUsage = error instanceof TypeError && 'code' in error;
  if (!(error instanceof ArtifactError) && !isUsage) throw error;
  process.stderr.write(`${error.message}\n`);
  return 2;
});

import path from 'node:path';
import { parseArgs } from 'node:util';
import { check } from './check.ts';
import { writeReport } from './report/write-report.ts';
import { ArtifactError } from './read-artifacts.ts';
import { exitCodeOf, formatVerdict } from './verdict-text.ts';

const USAGE = `usage: npm run chaos -- check [--json] [--report FILE] RUN
Checks the artefacts of a run of faults, in the folder RUN. --report writes a page of HTML with pictures and evidence. Exit code: 0 no violation, 1 violations, 2 unusable artefacts.
`;

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = { json: { type: 'boolean' }, report: { type: 'string' }, help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [folder] = positionals;
  if (values.help === true || folder === undefined || positionals.length > 1) {
    process.stderr.write(USAGE);
    return values.help === true ? 0 : 2;
  }
  // npm changes to the root of the checkout: paths are relative to where the user is.
  const resolve = (file: string) => path.resolve(process.env['INIT_CWD'] ?? '.', file);
  const run = resolve(folder);
  const verdict = values.report === undefined ? await check(run) : await writeReport(run, resolve(values.report));
  process.stdout.write(`${values.json === true ? JSON.stringify(verdict, undefined, 2) : formatVerdict(verdict)}\n`);
  return exitCodeOf(verdict);
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  // parseArgs throws a TypeError for an unknown option.
  const isUsage = error instanceof TypeError && 'code' in error;
  if (!(error instanceof ArtifactError) && !isUsage) throw error;
  process.stderr.write(`${error.message}\n`);
  return 2;
});

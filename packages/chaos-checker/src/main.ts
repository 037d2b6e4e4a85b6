import { parseArgs } from 'node:util';
import { check } from './check.ts';
import { ArtifactError } from './read-artifacts.ts';
import { exitCodeOf, formatVerdict } from './verdict-text.ts';

const USAGE = `usage: chaos-checker [--json] RUN
Checks the artefacts of a run of faults, in the folder RUN. Exit code: 0 no violation, 1 violations, 2 unusable artefacts.
`;

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [folder] = positionals;
  if (values.help === true || folder === undefined || positionals.length > 1) {
    process.stderr.write(USAGE);
    return values.help === true ? 0 : 2;
  }
  const verdict = await check(folder);
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

import { World } from './history/world.ts';
import { INVARIANTS } from './invariants/all.ts';
import type { Invariant, Observer } from './invariants/invariant.ts';
import { namesIn, readLines, readRun } from './read-artifacts.ts';
import { FINDING_LINE, UNDISTURBED_KEYS, type Run } from './artifacts.ts';
import { type Parts, partsOf, replay } from './replay.ts';
import { ClientLoadObserver } from './report/client-load.ts';
import { Findings, type Verdict, type VerdictSoFar } from './verdict.ts';

/**
 * Checks I1 to I35 on the artefacts of a run, in time linear in their size. Memory holds the live objects, and some numbers for each
 * change and each client's operation. `more` sees the same lines. Throws an ArtifactError for artefacts that cannot be read.
 */
export async function check(folder: string, more: (world: World) => readonly Observer[] = () => []): Promise<Verdict> {
  const run = await readRun(folder);
  const parts = await partsOf(folder, run);
  const world = new World(run);
  world.undisturbed = await readUndisturbed(folder, run);
  const checks = startChecks(world, parts);
  const load = new ClientLoadObserver(world);
  const lasting = [load, ...more(world)];
  await replay(folder, {
    run,
    parts,
    world,
    observers: activeOf(checks),
    renew: () => renewed(checks, world),
    lasting,
  });
  const invariants = checks.map(({ invariant: { id, title, unit, needs }, findings, missing }) => {
    const broken = needs.includes('etcd') ? world.problems[0] : undefined;
    return findings.verdict(id, title, unit, missing === undefined ? broken : absence(missing, parts));
  });
  const found = await readFindings(folder);
  const violated = found.length > 0 || invariants.some(({ violationCount }) => violationCount > 0);
  const outcome = violated ? 'violations' : world.problems.length > 0 ? 'unusable' : 'ok';
  return { outcome, problems: world.problems, found, invariants, loads: load.loads() };
}

/**
 * Checks what a run that is still recorded shows before a time. An invariant decides as lines come, or when its observer finishes: only the
 * first kind is judged here, so that no violation is reported that the whole run does not have. Throws an ArtifactError.
 */
export async function checkUntil(folder: string, untilMs: number): Promise<VerdictSoFar> {
  const begun = await readRun(folder, 'begun.json');
  // Nobody knows the end yet.
  const run = { ...begun, endedAtMs: Number.POSITIVE_INFINITY };
  const parts = await partsOf(folder, run);
  const world = new World(run);
  const checks = startChecks(world, parts);
  const renew = () => renewed(checks, world);
  await replay(folder, { run, parts, world, observers: activeOf(checks), renew, untilMs });
  const invariants = checks.map(({ invariant: { id, title, unit }, findings, observer }) => {
    const open = observer.finish === undefined ? `no ${unit} yet` : 'decided at the end';
    const verdict = findings.verdict(id, title, unit, undefined);
    return verdict.checked > 0 || verdict.violationCount > 0 ? verdict : { ...verdict, notChecked: open };
  });
  return { untilMs, invariants };
}

interface Check {
  readonly invariant: Invariant;
  readonly findings: Findings;
  readonly missing: keyof Parts | undefined;
  readonly observer: Observer;
}

function startChecks(world: World, parts: Parts): readonly Check[] {
  return INVARIANTS.map((invariant) => {
    const findings = new Findings();
    const missing = invariant.needs.find((part) => parts[part].length === 0);
    return { invariant, findings, missing, observer: invariant.observe(world, findings) };
  });
}

function activeOf(checks: readonly Check[]): readonly Observer[] {
  return checks.flatMap(({ missing, observer }) => (missing === undefined ? [observer] : []));
}

/** Observers for another history, with the same findings. */
function renewed(checks: readonly Check[], world: World): readonly Observer[] {
  return checks.flatMap(({ invariant, findings, missing }) =>
    missing === undefined ? [invariant.observe(world, findings)] : [],
  );
}

function absence(part: keyof Parts, parts: Parts): string {
  const present = Object.keys(parts).filter((name) => parts[name as keyof Parts].length > 0);
  return `the run has no artefacts in ${part}, only in ${present.join(', ')}`;
}

/** The end of the same workload without faults; undefined if the run has none. */
async function readUndisturbed(folder: string, run: Run): Promise<World | undefined> {
  if (!(await namesIn(folder, '.')).includes('undisturbed')) return undefined;
  const world = new World(run);
  for await (const [{ keys }, source] of readLines(folder, 'undisturbed.jsonl', UNDISTURBED_KEYS)) {
    for (const kv of keys) world.applyInitial(kv.key, { ...kv, type: 'put' }, source);
  }
  return world;
}

/** What the campaign itself found wrong. */
async function readFindings(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  if (!(await namesIn(folder, '.')).includes('findings')) return found;
  for await (const [{ what }] of readLines(folder, 'findings.jsonl', FINDING_LINE)) found.push(what);
  return found;
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { CommandError } from '../machine/command-error.ts';
import { CHAOS_LABEL, type ChaosEngine, repositoryOf } from './engine.ts';

const REPLACEMENT = z.strictObject({
  /** In the image's folder `/app/lib`. */
  file: z.string().regex(/^[a-z-]+\.mjs$/),
  find: z.string().min(1),
  replace: z.string(),
});

/** A build of services without one of their protections, and the campaign that must find it. */
const BUILD = z.strictObject({
  name: z.string().regex(/^[a-z-]+$/),
  what: z.string(),
  /** At least one of them must be violated. */
  invariants: z.array(z.string()).min(1),
  services: z.array(z.string()).min(1),
  replacements: z.array(REPLACEMENT).min(1),
  workload: z.string(),
  /** In `deploy/broken-builds/plans`, without `.json`: a plan as `npm run chaos -- --plan` takes it. */
  plan: z.string().regex(/^[a-z-]+$/),
  withinSeconds: z.number().int().positive(),
});
export type BrokenBuild = z.infer<typeof BUILD>;

/** Reads the file of builds. Throws CommandError that names the field. */
export function parseBuilds(text: string): readonly BrokenBuild[] {
  const parsed = z.array(BUILD).safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CommandError(`broken builds: ${issue?.path.join('.')}: ${issue?.message}`);
}

/**
 * Replaces the only place of a bundle that has the text. White space does not count, for the bundle has little; nor do numbers behind names,
 * by which the bundler tells equal names apart. Throws CommandError if there is no such place, or more than one.
 */
export function replaceOnce(bundle: string, { file, find, replace }: BrokenBuild['replacements'][number]): string {
  // The bundler breaks lines, also within strings.
  const joined = bundle.replaceAll('\\\n', '');
  const found = [...joined.matchAll(new RegExp(patternOf(find), 'g'))];
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new CommandError(
      `${file} has ${found.length} places with ${JSON.stringify(find)}, not one`,
      'the code has changed: change deploy/broken-builds/builds.json',
    );
  }
  return joined.slice(0, only.index) + replace + joined.slice(only.index + only[0].length);
}

const isWord = (token: string) => /^\w/.test(token);

function patternOf(find: string): string {
  const tokens = find.match(/\w+|[^\s\w]/g) ?? [];
  return tokens
    .map((token, index) => {
      const next = tokens[index + 1];
      const pattern = isWord(token) ? `${token}${/^\d/.test(token) ? '' : '\\d*'}` : `\\${token}`;
      if (next === undefined) return pattern;
      return pattern + (isWord(token) && isWord(next) ? '\\s+' : '\\s*');
    })
    .join('');
}

/** Replaces the texts of a build in the bundles of the services' image, without making an image. Throws CommandError as `replaceOnce` does. */
export async function verifyBuild(engine: ChaosEngine, build: BrokenBuild): Promise<void> {
  await withReplaced(engine, build, async () => await Promise.resolve());
}

/** Makes the image of a build from that of the cluster's services. Returns its name. */
export async function buildBroken(engine: ChaosEngine, build: BrokenBuild): Promise<string> {
  const tag = `${repositoryOf(engine.options.clusterId)}:${build.name}`;
  await withReplaced(engine, build, (container) => engine.commit(container, tag));
  return tag;
}

/** Calls `use` with a container that has the changed files and never ran. */
async function withReplaced(
  engine: ChaosEngine,
  { replacements }: BrokenBuild,
  use: (container: string) => Promise<void>,
): Promise<void> {
  const { clusterId, image, shell } = engine.options;
  const container = `${repositoryOf(clusterId)}-broken`;
  const folder = mkdtempSync(join(tmpdir(), 'gantry-broken-'));
  const remove = () => shell.run('docker', ['rm', '-f', container]);
  try {
    await remove();
    await engine.docker(['create', '--name', container, '--label', `${CHAOS_LABEL}=${clusterId}`, image]);
    for (const replacement of replacements) {
      const [inside, outside] = [`${container}:/app/lib/${replacement.file}`, join(folder, replacement.file)];
      await engine.docker(['cp', inside, outside]);
      writeFileSync(outside, replaceOnce(readFileSync(outside, 'utf8'), replacement));
      await engine.docker(['cp', outside, inside]);
    }
    await use(container);
  } finally {
    await remove();
    rmSync(folder, { recursive: true });
  }
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '@gantry/base';
import { waitUntil } from '../cluster/wait-until.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { basesOf, type ImageEntry, type Proof } from './image-table.ts';

/** Made of these: the sources of this checkout, and the programs that were compiled of the pinned release. */
export interface ImageSources {
  readonly root: string;
  /** What `ensure-conformance-program` prints. */
  readonly program: string;
}

type StandIn = Extract<ImageEntry, { readonly kind: 'stand-in' }>;

const PULL_PROBE_SECONDS = 10;
const PULL_SECONDS = 180;
const SERVE_MS = 30_000;
const POLL_MS = 200;
const MADE_OF = 'gantry.made-of';

/** What images there must be, and where they come from. */
export interface ImageNeeds {
  readonly sources: ImageSources;
  readonly table: readonly ImageEntry[];
  /** `none` asks no registry. */
  readonly asks: 'registry' | 'none';
}

/** Makes sure that the engine has the images of the table: pulled where a registry answers, else made, each proved once when made. */
export async function ensureImages(
  shell: Shell,
  clock: Clock,
  { sources, table, asks }: ImageNeeds,
  note: (text: string) => void,
): Promise<{ readonly pulled: number; readonly made: number }> {
  const missing: ImageEntry[] = [];
  for (const entry of table) {
    if (entry.kind !== 'refused' && !(await isCurrent(shell, sources, entry))) missing.push(entry);
  }
  const counts = { pulled: 0, made: 0 };
  const [first] = missing.filter(({ kind }) => kind === 'stand-in');
  if (first === undefined) return counts;
  note(`asking a registry for ${first.name}`);
  const answers = asks === 'registry' && (await pull(shell, first.name, PULL_PROBE_SECONDS));
  for (const entry of missing) {
    if (answers && (await pull(shell, entry.name, PULL_SECONDS))) {
      counts.pulled++;
      note(`${entry.name} pulled`);
    } else if (entry.kind === 'stand-in') {
      note(`making ${entry.name} of ${entry.of}`);
      await makeStandIn(shell, sources, entry, table);
      await proveStandIn(shell, clock, entry);
      counts.made++;
    }
  }
  return counts;
}

/** What does not do what the tests look at is removed again: it must not be found by the next run. */
async function proveStandIn(shell: Shell, clock: Clock, entry: StandIn): Promise<void> {
  try {
    for (const proof of entry.proofs) await proveImage(shell, clock, entry.name, proof);
  } catch (error) {
    await mustRun(shell, 'docker', ['image', 'rm', '-f', entry.name]);
    throw error;
  }
}

/** Fails unless a container of the image says what the tests look for. */
async function proveImage(shell: Shell, clock: Clock, image: string, proof: Proof): Promise<void> {
  const says = new RegExp(proof.says, 'ms');
  if ('run' in proof) {
    const args = proof.run.map((word) => (word === 'IMAGE' ? image : word));
    const { stdout, stderr } = await shell.run('docker', ['run', '--rm', ...args]);
    if (says.test(stdout) || says.test(stderr)) return;
    throw new CommandError(
      `${image} does not say ${proof.says} to ${proof.run.join(' ')}`,
      `${stdout}${stderr}`.slice(-500),
    );
  }
  const id = (await mustRun(shell, 'docker', ['run', '-d', image, ...proof.serve])).trim();
  try {
    const options = { clock, what: `${image} ${proof.serve.join(' ')}`, timeoutMs: SERVE_MS, everyMs: POLL_MS };
    const silent = () => undefined;
    await waitUntil(
      options,
      async () => {
        const { stdout, stderr } = await shell.run('docker', ['exec', id, ...proof.ask]);
        return says.test(stdout)
          ? { done: true, value: undefined }
          : { done: false, missing: `${proof.ask.join(' ')} says ${stdout}${stderr}`.slice(0, 500) };
      },
      silent,
    );
  } finally {
    await mustRun(shell, 'docker', ['rm', '-f', '-v', id]);
  }
}

/** Whether the image is there: the original, or a stand-in of what it would be made of now. */
async function isCurrent(shell: Shell, sources: ImageSources, entry: ImageEntry): Promise<boolean> {
  const { code, stdout } = await shell.run('docker', [
    'image',
    'inspect',
    '-f',
    `{{index .Config.Labels "${MADE_OF}"}}`,
    entry.name,
  ]);
  if (code !== 0) return false;
  const found = stdout.trim();
  return found === '' || (entry.kind === 'stand-in' && found === madeOf(sources, entry));
}

async function pull(shell: Shell, image: string, seconds: number): Promise<boolean> {
  // A filtered network answers nothing at all.
  return (await shell.run('timeout', [String(seconds), 'docker', 'pull', '-q', image])).code === 0;
}

const dockerfileOf = (sources: ImageSources, entry: StandIn) =>
  join(sources.root, 'deploy/conformance/images', `${entry.dockerfile}.Dockerfile`);

function madeOf(sources: ImageSources, entry: StandIn): string {
  const parts = [readFileSync(dockerfileOf(sources, entry), 'utf8'), JSON.stringify(entry), basename(sources.program)];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);
}

async function makeStandIn(
  shell: Shell,
  sources: ImageSources,
  entry: StandIn,
  table: readonly ImageEntry[],
): Promise<void> {
  const file = dockerfileOf(sources, entry);
  const bases = basesOf(readFileSync(file, 'utf8')).filter((base) => table.every(({ name }) => name !== base));
  await mustRun(shell, join(sources.root, 'deploy/bin/ensure-images'), bases);
  const args = Object.entries(entry.args ?? {}).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const labels = ['--label', 'gantry.stand-in=conformance', '--label', `${MADE_OF}=${madeOf(sources, entry)}`];
  const context = join(sources.program, 'images');
  await mustRun(shell, 'docker', ['build', '-q', '-t', entry.name, ...labels, ...args, '-f', file, context], {
    env: { DOCKER_BUILDKIT: '1' },
  });
}

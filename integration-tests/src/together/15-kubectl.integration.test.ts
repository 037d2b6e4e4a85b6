import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { kubectlOf } from '../harness/kubectl-versions.ts';
import { differences, parseTranscript } from '../harness/transcript.ts';
import { playTranscript } from '../harness/transcript-player.ts';

const [OLDEST, NEWEST] = [27, 36];
const BETWEEN = [29, 31, 33];
/** `npm run kubectls`: each release plays all transcripts. Otherwise those between the oldest and the newest one take turns. */
const ALL = process.env['GANTRY_KUBECTLS'] === 'all';
/** A machine that is slow takes minutes for the longest, of more than 100 commands. */
const TIMEOUT_MS = 900_000;

const cluster = new Cluster();
const folder = join(cluster.root, 'integration-tests/kubectl');
const transcripts = readdirSync(folder)
  .filter((name) => name.endsWith('.txt'))
  .map((name) => ({ name: name.slice(0, -'.txt'.length), text: readFileSync(join(folder, name), 'utf8') }));

/** What a release plays. */
function transcriptsOf(minor: number): typeof transcripts {
  const turn = BETWEEN.indexOf(minor);
  return ALL || turn < 0 ? transcripts : transcripts.filter((_, i) => i % BETWEEN.length === turn);
}

test('the script has more than 150 commands', () => {
  const steps = transcripts.flatMap(({ text }) => parseTranscript(text, 36).steps);
  expect(steps.length).toBeGreaterThan(150);
});

// Each in a namespace of its own, and with names of its own for what is in none.
describe.concurrent.each([OLDEST, ...BETWEEN, NEWEST])('kubectl 1.%i', (minor) => {
  let program = '';
  beforeAll(() => {
    program = kubectlOf(cluster.root, minor).program;
  });

  test.each(transcriptsOf(minor))('$name', { timeout: TIMEOUT_MS }, async ({ text }) => {
    await using namespace = await cluster.namespace();
    const { kubeconfig } = cluster;
    const played = await playTranscript(text, { kubectl: program, minor, kubeconfig, namespace: namespace.name });
    const wrong = played.flatMap(({ step, answer }) => differences(step, answer));
    expect(wrong.join('\n')).toBe('');
  });
});

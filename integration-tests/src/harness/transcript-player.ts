import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { runProgram } from './process.ts';
import { type Answer, expand, parseTranscript, type Step } from './transcript.ts';

/** Who plays a transcript: one kubectl, towards one cluster, in one namespace. */
export interface Player {
  readonly kubectl: string;
  readonly minor: number;
  readonly kubeconfig: string;
  readonly namespace: string;
}

export interface Played {
  readonly step: Step;
  readonly answer: Answer;
}

/** kubectl ends before collecting garbage pays: it takes a fifth of its time otherwise. */
const SHORT_LIVED = { GOGC: 'off', GOMEMLIMIT: '512MiB' };
/** A step that takes longer than this hangs. */
const STEP_MS = 300_000;

/**
 * Plays a whole transcript in a fresh folder with a home of its own, and tells what each step answered. A step that answers
 * something else does not end the play, so that what the transcript removes is removed.
 */
export async function playTranscript(text: string, player: Player): Promise<readonly Played[]> {
  const variables = variablesOf(player);
  const { files, steps } = parseTranscript(text, player.minor, variables);
  const expanded = expand(text, variables);
  const folder = mkdtempSync(join(tmpdir(), 'gantry-kubectl-'));
  const [bin, work, temporary] = [join(folder, 'bin'), join(folder, 'work'), join(folder, 'temporary')];
  mkdirSync(bin);
  mkdirSync(work);
  mkdirSync(temporary);
  symlinkSync(player.kubectl, join(bin, 'kubectl'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, inNamespace(readFileSync(player.kubeconfig, 'utf8'), player.namespace), { mode: 0o600 });
  for (const [name, content] of files) {
    const file = join(work, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: content.startsWith('#!') ? 0o755 : 0o644 });
  }
  const env = {
    ...variables,
    HOME: folder,
    // A `kubectl edit` that fails keeps what was edited.
    TMPDIR: temporary,
    KUBECONFIG: kubeconfig,
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    TZ: 'UTC',
    LC_ALL: 'C',
    ...SHORT_LIVED,
  };
  const played: Played[] = [];
  try {
    for (const step of steps) {
      const answer = await runProgram('sh', ['-c', step.command], { env, cwd: work, timeoutMs: STEP_MS });
      played.push({ step, answer: { ...answer, stderr: withoutStrangers(answer.stderr, expanded) } });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return played;
}

const LOST_GROUP =
  /^E\d{4} .*\] couldn't get resource list for ([^/]+)\/\S+: the server could not find the requested resource$/;

/** kubectl's own race: its wait ends, and its loop begins another watch before it hears of that. */
const WATCH_AT_THE_END =
  /^E\d{4} .* reflector\.go:\d+\] ("Unhandled Error" err=".*: Failed to watch \S+: context deadline exceeded"|"Failed to watch" err="context deadline exceeded" reflector=".*)$/;

/**
 * stderr without what clients print by races of their own: a watch begun at the end of a wait, and what kubectl before 1.30 prints when a
 * group vanishes between its list of the groups and its look at each (it does not read v2 of aggregated discovery). Other transcripts make
 * and delete groups meanwhile: only a group that this one names counts.
 */
export function withoutStrangers(stderr: string, transcript: string): string {
  // `csi-v29.example.com` is another name.
  const named = new Set(transcript.split(/[^-.\w]+/));
  const strange = (line: string): boolean => {
    const group = LOST_GROUP.exec(line)?.[1];
    return WATCH_AT_THE_END.test(line) || (group !== undefined && !named.has(group));
  };
  return stderr
    .split('\n')
    .filter((line) => !strange(line))
    .join('\n');
}

/** What stands in a transcript as `$NAME`, and in its commands' environment. */
function variablesOf({ namespace, minor }: Player): Readonly<Record<string, string>> {
  return {
    NS: namespace,
    V: `v${minor}`,
    MINOR: String(minor),
    // What `kubectl delete` says behind "deleted", from 1.34 on.
    FROM: minor >= 34 ? ` from ${namespace} namespace` : '',
  };
}

interface Kubeconfig {
  readonly contexts: readonly { readonly name: string; readonly context: Readonly<Record<string, unknown>> }[];
}

/** The kubeconfig with every context in a namespace. */
function inNamespace(text: string, namespace: string): string {
  const config = parse(text) as Kubeconfig;
  const contexts = config.contexts.map(({ name, context }) => ({ name, context: { ...context, namespace } }));
  return stringify({ ...config, contexts });
}

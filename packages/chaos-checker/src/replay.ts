import { CLIENT_LINE, ENGINE_LINE, FAULT_LINE, INITIAL_KEYS, METRIC_LINE, type Run } from './artifacts.ts';
import { mergedHistory } from './history/etcd-history.ts';
import { type World } from './history/world.ts';
import type { Observer, Part } from './invariants/invariant.ts';
import { ArtifactError, type FileEnd, namesIn, readLines } from './read-artifacts.ts';

interface Step {
  readonly atMs: number;
  apply(): void;
}

/** Files of each part of the run. */
export type Parts = Readonly<Record<Part, readonly string[]>>;

/** The files that the run has. Throws an ArtifactError without a history of etcd. */
export async function partsOf(folder: string, run: Run): Promise<Parts> {
  const etcd = await namesIn(folder, 'etcd');
  const missing = run.etcdMembers.filter((member) => !etcd.includes(member));
  if (missing.length > 0) throw new ArtifactError(`etcd/${missing[0]}.jsonl is missing: run.json names the member`);
  if (!etcd.includes('initial')) throw new ArtifactError('etcd/initial.jsonl is missing');
  const top = await namesIn(folder, '.');
  return {
    etcd: run.etcdMembers,
    engine: await namesIn(folder, 'engine'),
    clients: await namesIn(folder, 'clients'),
    metrics: await namesIn(folder, 'metrics'),
    faults: top.filter((name) => name === 'faults'),
  };
}

/** A folder that is read, and how its files end. */
interface Files {
  readonly folder: string;
  readonly end: FileEnd;
}

export interface ReplayOptions {
  readonly run: Run;
  readonly parts: Parts;
  readonly world: World;
  readonly observers: readonly Observer[];
  /**
   * Only the lines before this time, all of which must be in the files, though the run is still recorded. The observers do not finish: what
   * they find is found in the whole run too, because that begins with the same lines.
   */
  readonly untilMs?: number;
}

/** Reads a run once, in the order of its time, and shows each line to the observers. Throws an ArtifactError. */
export async function replay(folder: string, options: ReplayOptions): Promise<void> {
  const { run, parts, world, observers, untilMs } = options;
  await readInitial(folder, run, world);
  for (const observer of observers) observer.begin?.();
  const files: Files = { folder, end: untilMs === undefined ? 'complete' : 'growing' };
  const streams: AsyncGenerator<Step>[] = [
    historySteps(files, run, world, observers),
    ...parts.engine.map((host) => engineSteps(files, host, world, observers)),
    ...parts.faults.map(() => faultSteps(files, world, observers)),
    ...parts.clients.map((name) => clientSteps(files, name, observers)),
    ...parts.metrics.map((name) => metricSteps(files, name, observers)),
  ];
  for await (const step of inOrder(streams)) {
    if (untilMs !== undefined && step.atMs >= untilMs) return;
    world.nowMs = Math.max(world.nowMs, step.atMs);
    step.apply();
  }
  if (untilMs !== undefined) return;
  world.nowMs = Math.max(world.nowMs, run.endedAtMs);
  for (const observer of observers) observer.finish?.();
}

async function readInitial(folder: string, run: Run, world: World): Promise<void> {
  for await (const [{ revision, keys }, source] of readLines(folder, 'etcd/initial.jsonl', INITIAL_KEYS)) {
    if (revision !== run.firstRevision - 1) {
      throw new ArtifactError(
        `${source.file}:${source.line}: revision: ${revision} is not firstRevision - 1 of run.json, ${run.firstRevision - 1}`,
      );
    }
    for (const kv of keys) world.applyInitial(kv.key, { ...kv, type: 'put' }, source);
  }
}

/** Merges streams by time. Of those with the same time, the first one comes first. */
async function* inOrder(streams: readonly AsyncGenerator<Step>[]): AsyncGenerator<Step> {
  try {
    yield* merged(streams);
  } finally {
    await Promise.all(streams.map((stream) => stream.return(undefined)));
  }
}

async function* merged(streams: readonly AsyncGenerator<Step>[]): AsyncGenerator<Step> {
  const heads = await Promise.all(streams.map((stream) => stream.next()));
  for (;;) {
    let first: number | undefined;
    let step: Step | undefined;
    for (const [index, head] of heads.entries()) {
      if (head.done === true || (step !== undefined && head.value.atMs >= step.atMs)) continue;
      first = index;
      step = head.value;
    }
    const stream = first === undefined ? undefined : streams[first];
    if (first === undefined || stream === undefined || step === undefined) return;
    yield step;
    heads[first] = await stream.next();
  }
}

async function* historySteps(
  { folder, end }: Files,
  run: Run,
  world: World,
  observers: readonly Observer[],
): AsyncGenerator<Step> {
  let last = run.firstRevision - 1;
  for await (const revision of mergedHistory(folder, run.etcdMembers, { firstRevision: run.firstRevision, end })) {
    const { atMs, source, events } = revision;
    const apply = () => {
      if (revision.revision !== last + 1) {
        world.problem(
          `${source.file}:${source.line}: revision ${revision.revision} follows ${last}: events are missing`,
        );
      }
      last = revision.revision;
      const { changes, keys } = world.applyRevision(revision.revision, atMs, events, source);
      for (const observer of observers) {
        for (const change of keys) observer.key?.(change);
        for (const change of changes) observer.change?.(change);
        observer.revision?.(revision);
      }
    };
    yield { atMs, apply };
  }
  if (last < run.lastRevision) {
    world.problem(`the history ends at revision ${last}, before lastRevision ${run.lastRevision}`);
  }
}

async function* engineSteps(
  { folder, end }: Files,
  host: string,
  world: World,
  observers: readonly Observer[],
): AsyncGenerator<Step> {
  for await (const [line, source] of readLines(folder, `engine/${host}.jsonl`, ENGINE_LINE, end)) {
    const apply = () => {
      for (const change of world.applyEngine(host, line, source)) {
        for (const observer of observers) observer.container?.(change);
      }
    };
    yield { atMs: line.atMs, apply };
  }
}

async function* faultSteps({ folder, end }: Files, world: World, observers: readonly Observer[]): AsyncGenerator<Step> {
  for await (const [line, source] of readLines(folder, 'faults.jsonl', FAULT_LINE, end)) {
    const apply = () => {
      world.applyFault(line);
      for (const observer of observers) observer.fault?.(line, source);
    };
    yield { atMs: line.atMs, apply };
  }
}

async function* clientSteps(
  { folder, end }: Files,
  name: string,
  observers: readonly Observer[],
): AsyncGenerator<Step> {
  const interested = observers.filter(({ client }) => client !== undefined);
  for await (const [line, source] of readLines(folder, `clients/${name}.jsonl`, CLIENT_LINE, end)) {
    const apply = () => {
      for (const observer of interested) observer.client?.(line, source);
    };
    yield { atMs: line.atMs, apply };
  }
}

async function* metricSteps(
  { folder, end }: Files,
  name: string,
  observers: readonly Observer[],
): AsyncGenerator<Step> {
  const interested = observers.filter(({ metric }) => metric !== undefined);
  for await (const [line, source] of readLines(folder, `metrics/${name}.jsonl`, METRIC_LINE, end)) {
    const apply = () => {
      for (const observer of interested) observer.metric?.(line, source);
    };
    yield { atMs: line.atMs, apply };
  }
}

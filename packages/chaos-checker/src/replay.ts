import {
  CLIENT_LINE,
  type ClientLine,
  ENGINE_LINE,
  FAULT_LINE,
  INITIAL_KEYS,
  METRIC_LINE,
  RESTORE_LINE,
  type RestoreLine,
  type Run,
} from './artifacts.ts';
import { mergedHistory } from './history/etcd-history.ts';
import type { KeyVersion, World } from './history/world.ts';
import type { Observer, Part } from './invariants/invariant.ts';
import { ArtifactError, type FileEnd, namesIn, readLines, type Source } from './read-artifacts.ts';

interface Step {
  readonly atMs: number;
  /** `stop`: nothing follows from the lines after it, as far as the run is recorded. */
  apply(): 'stop' | void;
}

/** Who is shown the lines. */
class Audience {
  /** For the whole run. */
  readonly #lasting: readonly Observer[];
  readonly #world: World;
  readonly #renew: () => readonly Observer[];
  /** First lines of requests and watches that have not ended. */
  readonly #open = new Map<string, readonly [ClientLine, Source]>();
  #judges: readonly Observer[] = [];
  all: readonly Observer[] = [];
  ofClients: readonly Observer[] = [];
  ofMetrics: readonly Observer[] = [];

  constructor({ world, observers, lasting = [], renew }: ReplayOptions) {
    this.#world = world;
    this.#lasting = lasting;
    this.#renew = renew;
    this.#seat(observers);
  }

  #seat(judges: readonly Observer[]): void {
    this.#judges = judges;
    this.all = [...judges, ...this.#lasting];
    this.ofClients = this.all.filter(({ client }) => client !== undefined);
    this.ofMetrics = this.all.filter(({ metric }) => metric !== undefined);
  }

  client(line: ClientLine, source: Source): void {
    this.#follow(line, source);
    for (const observer of this.ofClients) observer.client?.(line, source);
  }

  #follow(line: ClientLine, source: Source): void {
    if ('observe' in line) return;
    const [id, begins, ends] =
      'op' in line
        ? [line.op, line.phase === 'invoke', line.phase !== 'invoke']
        : [`watch ${line.watch}`, line.type === 'OPEN', line.type === 'CLOSE'];
    if (begins) this.#open.set(`${source.file} ${id}`, [line, source]);
    else if (ends) this.#open.delete(`${source.file} ${id}`);
  }

  /**
   * Those who judge the history so far do so, and others begin with the restored state. A request or a watch that was begun before, and for
   * which the API servers were away, may be answered after the restore.
   */
  cut(restore: RestoreLine, source: Source, atMs: number, atSnapshot: ReadonlyMap<string, KeyVersion>): void {
    const differences = differencesOf(restore.keys, atSnapshot);
    for (const observer of this.#judges) observer.cut?.(differences, atMs, source);
    this.#world.restore(restore.keys, restore.atMs, source);
    const judges = this.#renew();
    this.#seat(judges);
    for (const observer of judges) {
      observer.begin?.();
      for (const after of this.#world.containers.values()) {
        observer.container?.({ before: undefined, after, action: 'snapshot', atMs, source: after.source });
      }
      for (const [line, from] of this.#open.values()) observer.client?.(line, from);
    }
  }
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
  /** Observers for the history that begins when a snapshot was restored, in place of `observers`. */
  readonly renew: () => readonly Observer[];
  /** Observers of the whole run. */
  readonly lasting?: readonly Observer[];
  /**
   * Only the lines before this time, all of which must be in the files, though the run is still recorded. The observers do not finish: what
   * they find is found in the whole run too, because that begins with the same lines.
   */
  readonly untilMs?: number;
}

/** Reads a run once, in the order of its time, and shows each line to the observers. Throws an ArtifactError. */
export async function replay(folder: string, options: ReplayOptions): Promise<void> {
  const { run, parts, world, untilMs } = options;
  const audience = new Audience(options);
  const files: Files = { folder, end: untilMs === undefined ? 'complete' : 'growing' };
  const restores = await readRestores(files);
  if (restores.length > 0) world.values = 'kept';
  await readInitial(folder, run, world);
  for (const observer of audience.all) observer.begin?.();
  const streams: AsyncGenerator<Step>[] = [
    historySteps(files, { run, world, audience, restores }),
    ...parts.engine.map((host) => engineSteps(files, host, world, audience)),
    ...parts.faults.map(() => faultSteps(files, world, audience)),
    ...parts.clients.map((name) => clientSteps(files, name, audience)),
    ...parts.metrics.map((name) => metricSteps(files, name, audience)),
  ];
  for await (const step of inOrder(streams)) {
    if (untilMs !== undefined && step.atMs >= untilMs) return;
    world.nowMs = Math.max(world.nowMs, step.atMs);
    if (step.apply() === 'stop') return;
  }
  if (untilMs !== undefined) return;
  world.nowMs = Math.max(world.nowMs, run.endedAtMs);
  for (const observer of audience.all) observer.finish?.();
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

type Restores = readonly (readonly [RestoreLine, Source])[];

/** In order, each with its line. */
async function readRestores({ folder, end }: Files): Promise<Restores> {
  const restores: (readonly [RestoreLine, Source])[] = [];
  for await (const found of readLines(folder, 'restores.jsonl', RESTORE_LINE, end)) restores.push(found);
  return restores;
}

/** How a restored state differs from what the history had at the snapshot. */
function differencesOf(keys: RestoreLine['keys'], atSnapshot: ReadonlyMap<string, KeyVersion>): readonly string[] {
  const restored = new Set(keys.map(({ key }) => key));
  const missing = [...atSnapshot.keys()].filter((key) => !restored.has(key));
  return [
    ...missing.map((key) => `${key} was in the snapshot, and is not restored`),
    ...keys.flatMap(({ key, version, createRevision, modRevision, value }) => {
      const known = atSnapshot.get(key);
      if (known?.version !== version || known.createRevision !== createRevision || known.modRevision !== modRevision)
        return [`${key} is restored in version ${version}, and the snapshot has ${known?.version ?? 'none'}`];
      return known.value === value ? [] : [`${key} is restored with another value than the snapshot has`];
    }),
  ];
}

interface HistoryParts {
  readonly run: Run;
  readonly world: World;
  readonly audience: Audience;
  readonly restores: Restores;
}

async function* historySteps(
  { folder, end }: Files,
  { run, world, audience, restores }: HistoryParts,
): AsyncGenerator<Step> {
  let last = run.firstRevision - 1;
  let lastMs = 0;
  const cuts = [...restores];
  let atSnapshot: ReadonlyMap<string, KeyVersion> | undefined;
  for await (const revision of mergedHistory(folder, run.etcdMembers, { firstRevision: run.firstRevision, end })) {
    const { atMs, source, events } = revision;
    const [restore, from] = cuts[0] ?? [];
    if (restore !== undefined && from !== undefined) {
      if (revision.revision > restore.snapshotRevision) atSnapshot ??= world.versions();
      if (revision.revision > restore.revision) {
        const [cutMs, known] = [Math.max(lastMs, restore.stoppedMs), atSnapshot ?? world.versions()];
        if (last < restore.lastRevision) {
          const what = `the history before the restore ends at revision ${last}, and etcd had ${restore.lastRevision}`;
          world.problem(`${from.file}:${from.line}: ${what}: events are missing`);
        }
        yield { atMs: cutMs, apply: () => audience.cut(restore, from, cutMs, known) };
        [last, atSnapshot] = [restore.revision, undefined];
        cuts.shift();
      }
    }
    // The restore is written down when it is over.
    if (end === 'growing' && revision.revision > last + 1) yield { atMs, apply: () => 'stop' };
    lastMs = atMs;
    const apply = () => {
      if (revision.revision !== last + 1) {
        world.problem(
          `${source.file}:${source.line}: revision ${revision.revision} follows ${last}: events are missing`,
        );
      }
      last = revision.revision;
      const { changes, keys } = world.applyRevision(revision.revision, atMs, events, source);
      for (const observer of audience.all) {
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
  audience: Audience,
): AsyncGenerator<Step> {
  for await (const [line, source] of readLines(folder, `engine/${host}.jsonl`, ENGINE_LINE, end)) {
    const apply = () => {
      for (const change of world.applyEngine(host, line, source)) {
        for (const observer of audience.all) observer.container?.(change);
      }
    };
    yield { atMs: line.atMs, apply };
  }
}

async function* faultSteps({ folder, end }: Files, world: World, audience: Audience): AsyncGenerator<Step> {
  for await (const [line, source] of readLines(folder, 'faults.jsonl', FAULT_LINE, end)) {
    const apply = () => {
      world.applyFault(line);
      for (const observer of audience.all) observer.fault?.(line, source);
    };
    yield { atMs: line.atMs, apply };
  }
}

async function* clientSteps({ folder, end }: Files, name: string, audience: Audience): AsyncGenerator<Step> {
  for await (const [line, source] of readLines(folder, `clients/${name}.jsonl`, CLIENT_LINE, end)) {
    yield { atMs: line.atMs, apply: () => audience.client(line, source) };
  }
}

async function* metricSteps({ folder, end }: Files, name: string, audience: Audience): AsyncGenerator<Step> {
  for await (const [line, source] of readLines(folder, `metrics/${name}.jsonl`, METRIC_LINE, end)) {
    const apply = () => {
      for (const observer of audience.ofMetrics) observer.metric?.(line, source);
    };
    yield { atMs: line.atMs, apply };
  }
}

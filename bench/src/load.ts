import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { CONFIG_MAPS, type ConfigMap, isReason, type KubeObject, type Pod, PODS } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster, untilObject } from './cluster.ts';
import { countTerms, electionsBetween, Reconciles } from './leadership.ts';
import { judge } from './limits.ts';
import { docker, runningContainers, toolsPath } from './processes.ts';

/** The load: for how long, and how many workers for each processor. */
export interface LoadOptions {
  readonly minutes: number;
  readonly times: number;
}

const IMAGE = 'busybox:latest';
const POD = 'speaker';
/** Writes a line every 0.2 s, until its reader leaves. */
const SPEAK = 'i=0; while echo line $i; do i=$((i+1)); sleep 0.2; done';
const EXECS = 4;
const LOGS = 2;
const WRITERS = 4;
const WRITE_EVERY_MS = 250;
/** A write of a busy cluster. */
const WRITE_MS = 60_000;
/** A stream that ends later than this after its last line has carried nothing: its agent may be given up. */
const CARRIES_MS = 15_000;
/** After the load, until the cluster answers as usual. */
const SETTLE_MS = 60_000;
/** Before the load: streams and writers have begun. */
const BEGIN_MS = 5000;

/**
 * Loads the machine with many times its processors, and asks of a running cluster that nothing but time is lost: no container of the
 * control plane starts again, no stream ends while it carries bytes, every acknowledged write is there afterwards, leaders keep their office,
 * and controllers go on.
 */
export async function measureLoad(
  { api, project, kubeconfig }: MeasuredCluster,
  { minutes, times }: LoadOptions,
  print: (line: string) => void,
): Promise<void> {
  execFileSync('sh', ['deploy/bin/ensure-stress-ng'], { stdio: 'inherit' });
  process.env['PATH'] = toolsPath(kubeconfig);
  const workers = times * availableParallelism();
  const seconds = Math.round(minutes * 60);
  await inNamespace(api, `bench-load-${process.pid}`, async (namespace) => {
    const running = untilObject<Pod>(api, PODS, namespace, 60_000, (pod) => pod.status?.phase === 'Running');
    await api.create(PODS, speaker(namespace), deadline());
    await running;
    const before = startsOf(project);
    const stop = new AbortController();
    const kubectl = ['--kubeconfig', kubeconfig, '-n', namespace];
    const streams = [
      ...Array.from({ length: EXECS }, () => new SpokenStream([...kubectl, 'exec', POD, '--', 'sh', '-c', SPEAK])),
      ...Array.from({ length: LOGS }, () => new SpokenStream([...kubectl, 'logs', '-f', '--tail=1', POD])),
    ];
    const listening = streams.map((stream) => stream.run(stop.signal));
    const writers = Array.from({ length: WRITERS }, (_, index) => new Writer(api, namespace, `writer-${index}`));
    const reconciles = new Reconciles(api, namespace);
    const writing = [...writers, reconciles].map((each) => each.run(stop.signal));
    const terms = await countTerms(api);
    await delay(BEGIN_MS);
    print(`- ${workers} workers of stress-ng for ${seconds} s, on ${availableParallelism()} processors`);
    const load = spawn('stress-ng', ['--cpu', String(workers), '--timeout', `${seconds}s`], { stdio: 'ignore' });
    const stopLoad = () => void load.kill();
    process.once('exit', stopLoad);
    const [code] = (await once(load, 'close')) as [number | null];
    if (code !== 0) throw new Error(`stress-ng ended with ${code}`);
    process.off('exit', stopLoad);
    stop.abort();
    await Promise.all([...listening, ...writing]);
    const lost = await lostWrites(writers);
    const elections = electionsBetween(terms, await countTerms(api));
    const restarted = restarts(before, startsOf(project));
    const cuts = streams.flatMap(({ ends }) => ends);
    const carrying = cuts.filter(({ silentMs }) => silentMs < CARRIES_MS);
    const lines = streams.reduce((sum, stream) => sum + stream.lines, 0);
    const acknowledged = writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
    const refused = writers.reduce((sum, writer) => sum + writer.failed, 0);
    print(`- ${lines} lines in ${streams.length} streams, the longest pause ${longest(streams)} s`);
    print(`- ${acknowledged} writes acknowledged, ${refused} not`);
    print(`- ${reconciles.count} changes observed by controllers; elections: ${namesAndNumbers(elections)}`);
    for (const { what, silentMs, said } of cuts) {
      print(`- ended ${(silentMs / 1000).toFixed(1)} s after its last line: ${what}: ${said}`);
    }
    for (const name of restarted) print(`- started again: ${name}`);
    for (const name of lost) print(`- lost: ${name}`);
    // Without lines, the other results would prove nothing.
    print(
      judge('streams that said lines', streams.filter((one) => one.lines > 0).length, { atLeast: streams.length }, ''),
    );
    print(judge('containers of the control plane that started again', restarted.length, { atMost: 0 }, ''));
    print(judge('streams cut while they carried bytes', carrying.length, { atMost: 0 }, ''));
    print(judge('acknowledged writes lost', lost.length, { atMost: 0 }, ''));
    print(judge('elections of a component', Math.max(0, ...elections.values()), { atMost: 1 }, ''));
    print(
      judge('the longest time until a controller observed a change', reconciles.longestMs / 1000, { atMost: 5 }, ' s'),
    );
  });
}

function namesAndNumbers(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([name, number]) => `${name} ${number}`).join(', ');
}

function longest(streams: readonly SpokenStream[]): string {
  return (Math.max(...streams.map(({ longestPauseMs }) => longestPauseMs)) / 1000).toFixed(1);
}

function speaker(namespace: string): Pod {
  const container = { name: POD, image: IMAGE, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', SPEAK] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: POD, namespace },
    spec: { containers: [container], terminationGracePeriodSeconds: 0 },
  };
}

/** When each running container was started, by its name. */
function startsOf(project: string): ReadonlyMap<string, string> {
  const ids = runningContainers(project).map(({ id }) => id);
  const format = '{{.Name}} {{.Id}} {{.RestartCount}} {{.State.StartedAt}}';
  const lines = docker('inspect', '--format', format, ...ids).split('\n');
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]));
}

/** The names of containers that ended or were started again. */
function restarts(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  return [...before].flatMap(([name, start]) => (after.get(name) === start ? [] : [name]));
}

/** The unexpected end of a stream. */
interface StreamEnd {
  readonly what: string;
  /** Since its last line. */
  readonly silentMs: number;
  readonly said: string;
}

/** A stream of kubectl that says lines all the time, opened again whenever it ends. */
class SpokenStream {
  readonly ends: StreamEnd[] = [];
  lines = 0;
  longestPauseMs = 0;
  readonly #args: readonly string[];

  constructor(args: readonly string[]) {
    this.#args = args;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const child = spawn('kubectl', this.#args, { stdio: ['ignore', 'pipe', 'pipe'] });
      const end = () => void child.kill('SIGKILL');
      signal.addEventListener('abort', end, { once: true });
      const { lastAt, said } = await this.#listen(child);
      signal.removeEventListener('abort', end);
      if (signal.aborted) return;
      // One that could not be opened carried nothing.
      if (lastAt === undefined) await delay(1000);
      else this.ends.push({ what: this.#args.slice(4, 6).join(' '), silentMs: performance.now() - lastAt, said });
    }
  }

  async #listen(child: ChildProcess): Promise<{ readonly lastAt: number | undefined; readonly said: string }> {
    let lastAt: number | undefined;
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = text.trim()));
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', () => {
        const now = performance.now();
        if (lastAt !== undefined) this.longestPauseMs = Math.max(this.longestPauseMs, now - lastAt);
        lastAt = now;
        this.lines += 1;
      });
    }
    await once(child, 'close');
    return { lastAt, said };
  }
}

/** Writes an object again and again, and creates others, and remembers what was acknowledged. */
class Writer {
  readonly #api: MeasuredCluster['api'];
  readonly #namespace: string;
  readonly #name: string;
  readonly #created: string[] = [];
  #count = 0;
  acknowledged = 0;
  failed = 0;

  constructor(api: MeasuredCluster['api'], namespace: string, name: string) {
    this.#api = api;
    this.#namespace = namespace;
    this.#name = name;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#api.create(CONFIG_MAPS, this.#object(this.#name, 0), deadline());
    for (let next = 1; !signal.aborted; next++) {
      await delay(WRITE_EVERY_MS, undefined, { signal }).catch(() => undefined);
      try {
        if (next % 4 === 0) {
          const name = `${this.#name}-${next}`;
          await this.#api.create(CONFIG_MAPS, this.#object(name, next), deadline(WRITE_MS));
          this.#created.push(name);
        } else {
          const key = { namespace: this.#namespace, name: this.#name };
          await this.#api.patch(CONFIG_MAPS, key, { merge: { data: { count: String(next) } } }, deadline(WRITE_MS));
          this.#count = next;
        }
        this.acknowledged += 1;
      } catch {
        // It may have been written all the same: only what was acknowledged counts.
        this.failed += 1;
      }
    }
  }

  /** What is not there, or older than what was acknowledged. */
  async lost(): Promise<readonly string[]> {
    const read = (name: string) => this.#read(name);
    const count = Number((await read(this.#name))?.data?.['count'] ?? -1);
    const lost = count < this.#count ? [`${this.#name} has ${count}, not ${this.#count}`] : [];
    for (const name of this.#created) if ((await read(name)) === undefined) lost.push(name);
    return lost;
  }

  async #read(name: string): Promise<ConfigMap | undefined> {
    try {
      return await this.#api.get(CONFIG_MAPS, { namespace: this.#namespace, name }, deadline(SETTLE_MS));
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #object(name: string, count: number): ConfigMap & KubeObject {
    const metadata = { name, namespace: this.#namespace };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { count: String(count) } };
  }
}

async function lostWrites(writers: readonly Writer[]): Promise<readonly string[]> {
  return (await Promise.all(writers.map((writer) => writer.lost()))).flat();
}

import { createWriteStream, mkdirSync, writeFileSync, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { dirname, join } from 'node:path';
import type {
  ClientLine,
  EngineLine,
  EtcdLine,
  FaultLine,
  InitialKeys,
  MetricLine,
  RestoreLine,
  Run,
} from '@gantry/chaos-checker';
import type { Clock } from '@gantry/base';

/** Without the time, which the folder adds. */
type Untimed<T> = T extends { readonly atMs: number } ? Omit<T, 'atMs'> : never;
export type EtcdRecord = Untimed<EtcdLine>;
export type EngineRecord = Untimed<EngineLine>;
export type FaultRecord = Untimed<FaultLine>;
export type ClientRecord = Untimed<ClientLine>;
export type MetricRecord = Untimed<MetricLine>;
export type RestoreRecord = Untimed<RestoreLine>;

/** One look at the cluster after a round of faults. */
export interface HealthRecord {
  readonly round: number;
  /** How long the look took. */
  readonly lookMs: number;
  readonly problems: readonly string[];
}

/** Writes the artefacts of a run as they arise; packages/chaos-checker describes and reads them. Dispose of it to flush the files. */
export class RunFolder implements AsyncDisposable {
  readonly path: string;
  readonly #clock: Clock;
  readonly #files = new Map<string, WriteStream>();

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    // For its owner alone: the history of etcd has the objects of the cluster.
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  etcd(member: string, record: EtcdRecord): number {
    return this.#append(`etcd/${member}.jsonl`, record);
  }

  engine(record: EngineRecord): number {
    return this.#append('engine/host.jsonl', record);
  }

  fault(record: FaultRecord): number {
    return this.#append('faults.jsonl', record);
  }

  client(name: string, record: ClientRecord): number {
    return this.#append(`clients/${name}.jsonl`, record);
  }

  metrics(service: string, record: MetricRecord): number {
    return this.#append(`metrics/${service}.jsonl`, record);
  }

  restore(record: RestoreRecord): number {
    return this.#append('restores.jsonl', record);
  }

  initialKeys(keys: InitialKeys): void {
    this.#stream('etcd/initial.jsonl').write(`${JSON.stringify(keys)}\n`);
  }

  undisturbedKeys(keys: InitialKeys): void {
    this.#stream('undisturbed.jsonl').write(`${JSON.stringify(keys)}\n`);
  }

  /** What the campaign itself finds wrong. */
  finding(what: string): number {
    return this.#append('findings.jsonl', { what });
  }

  /** What was wrong with the cluster after a round of faults, whenever that has changed. */
  health(record: HealthRecord): number {
    return this.#append('health.jsonl', record);
  }

  text(file: string, text: string): void {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  run(run: Run, name: 'run.json' | 'begun.json' = 'run.json'): void {
    this.text(name, `${JSON.stringify(run, undefined, 2)}\n`);
  }

  /** Resolves when all lines so far are in the files, or cannot be written, which is reported at the end. */
  async flushed(): Promise<void> {
    const streams = [...this.#files.values()];
    await Promise.all(streams.map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))));
  }

  /** Appends a line with the time, and returns that. */
  #append(file: string, record: object): number {
    const atMs = this.#clock.monotonicMs();
    this.#stream(file).write(`${JSON.stringify({ atMs, ...record })}\n`);
    return atMs;
  }

  #stream(file: string): WriteStream {
    const known = this.#files.get(file);
    if (known !== undefined) return known;
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    const stream = createWriteStream(path, { flags: 'a' });
    // A full disk is reported at the end, by `finished`: without a listener, the error would end the process before it has healed anything.
    stream.on('error', () => undefined);
    this.#files.set(file, stream);
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const streams = [...this.#files.values()];
    this.#files.clear();
    await Promise.all(
      streams.map((stream) => {
        stream.end();
        return finished(stream);
      }),
    );
  }
}

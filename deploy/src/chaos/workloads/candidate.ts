import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pause } from '@gantry/base';
import { CONFIG_MAPS, type KubeObject, type ObjectKey, type Status, StatusError } from '@gantry/objects';
import { type LineProcess, startLines } from '../recording/line-process.ts';
import { RecordedClient } from './recorded-client.ts';
import type { WorkloadContext } from './workload.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const SOURCES = join(ROOT, 'deploy/elector');
/** Of the shell's end after that of the pause: only if this process has ended meanwhile, the shell ends the pause. */
const SPARE_MS = 3_000;

/** The program that `deploy/bin/ensure-elector` builds; undefined if there is none of the present sources. */
export function findElector(): string | undefined {
  const hash = createHash('sha256');
  for (const name of readdirSync(SOURCES).toSorted()) hash.update(readFileSync(join(SOURCES, name)));
  const program = join(ROOT, `.gantry/elector-${hash.digest('hex').slice(0, 16)}`);
  return existsSync(program) ? program : undefined;
}

/** What the program prints (deploy/elector/main.go). */
interface Line {
  readonly event: 'leads' | 'leads-not' | 'sent' | 'done';
  readonly resourceVersion?: string;
  readonly uid?: string;
  /** Of a refused write. */
  readonly status?: Status;
  /** Of a write without a response. */
  readonly error?: string;
}

/** A process that is elected by a Lease, and writes a ConfigMap of the same name while it leads. Its terms and writes are recorded. */
export class Candidate {
  readonly name: string;
  readonly #context: WorkloadContext;
  readonly #key: ObjectKey;
  readonly #client: RecordedClient;
  readonly #process: LineProcess;
  #state: 'leads' | 'follows' | 'frozen' = 'follows';
  /** The outcome of the write that was sent last. */
  #sent: PromiseWithResolvers<KubeObject> | undefined;
  #written = 0;

  constructor(context: WorkloadContext, name: string, key: ObjectKey, program: readonly [string, ...string[]]) {
    this.name = name;
    this.#context = context;
    this.#key = key;
    this.#client = new RecordedClient(context, name);
    const [file, ...first] = program;
    const args = [...first, context.kubeconfig, key.namespace, key.name, name];
    this.#process = startLines(file, args, context.over, (text) => this.#read(JSON.parse(text) as Line), 'open');
    void this.#process.ended.then(() => this.#onEnd());
  }

  get leads(): boolean {
    return this.#state === 'leads';
  }

  /** Acknowledged writes. */
  get written(): number {
    return this.#written;
  }

  /** Holds all bytes between it and the API for a time, or until `stop`. */
  async cutOff(ms: number, stop: AbortSignal): Promise<void> {
    this.#process.child.stdin.write('cut\n');
    await pause(this.#context.clock, ms, stop);
    this.#process.child.stdin.write('mend\n');
  }

  /**
   * Stops the process for a time, or until `stop`. A frozen process does not lead. When it goes on, client-go believes in the old term for up to
   * three seconds: what it writes then, its fence must have refused, which the checker finds in etcd's history (I2).
   */
  async freeze(ms: number, stop: AbortSignal): Promise<void> {
    const { child } = this.#process;
    if (child.pid === undefined || child.exitCode !== null) return;
    const guard = spawn(
      'sh',
      ['-c', 'sleep "$1"; kill -CONT "$2"', 'sh', String((ms + SPARE_MS) / 1000), String(child.pid)],
      {
        detached: true,
        stdio: 'ignore',
      },
    );
    guard.unref();
    child.kill('SIGSTOP');
    this.#leadsNot('frozen');
    await pause(this.#context.clock, ms, stop);
    this.#state = 'follows';
    child.kill('SIGCONT');
  }

  /** Ends it. Resolves with what is wrong. */
  async end(): Promise<readonly string[]> {
    const { child, ended } = this.#process;
    const early = child.exitCode !== null || child.signalCode !== null;
    child.stdin.end();
    const said = await ended;
    return early || child.exitCode !== 0 ? [`${this.name} has ended: ${said}`] : [];
  }

  #read(line: Line): void {
    if (line.event === 'leads-not') this.#leadsNot('follows');
    else if (line.event === 'leads') this.#leads();
    else if (line.event === 'sent') void this.#onSent();
    else this.#onDone(line);
  }

  #leads(): void {
    // It was frozen before its line was read.
    if (this.#state === 'frozen') return;
    this.#state = 'leads';
    this.#note('leads');
  }

  #leadsNot(state: 'follows' | 'frozen'): void {
    if (this.#state === 'leads') this.#note('leads-not');
    if (this.#state !== 'frozen') this.#state = state;
  }

  #note(observe: 'leads' | 'leads-not'): void {
    const { namespace, name } = this.#key;
    this.#context.folder.client(this.name, { observe, key: `${namespace}/${name}`, value: this.name });
  }

  async #onSent(): Promise<void> {
    const { promise } = (this.#sent = Promise.withResolvers<KubeObject>());
    const request = { verb: 'patch', resource: CONFIG_MAPS, key: this.#key } as const;
    const outcome = await this.#client.send(request, () => promise);
    if (outcome.kind === 'ok') this.#written++;
  }

  #onDone({ status, error, resourceVersion, uid }: Line): void {
    if (status !== undefined) this.#sent?.reject(StatusError.fromStatus(status));
    else if (error !== undefined) this.#sent?.reject(new Error(error));
    else {
      const metadata = { ...this.#key, resourceVersion, uid };
      this.#sent?.resolve({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    }
  }

  #onEnd(): void {
    this.#leadsNot('follows');
    this.#sent?.reject(new Error('the program has ended'));
  }
}

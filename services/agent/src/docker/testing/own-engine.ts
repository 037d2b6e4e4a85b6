import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { readIfThere } from '../../files/if-there.ts';
import { linuxMounts } from '../../mounts/linux-mounts.ts';

const run = promisify(execFile);

const POLL = { timeout: 60_000, interval: 50 };
/** The maximum length of a failed program's output in an error. */
const LOG_LENGTH = 4_000;
/** `npm run engine-matrix` tests another engine than the machine's. */
const PATH = [process.env['GANTRY_ENGINE_PATH'], process.env['PATH']].filter((path) => path !== undefined).join(':');
/** Runs a program in its own network namespace with only the loopback interface. */
const ALONE = 'ip link set lo up && exec "$@"';

export interface OwnEngineOptions {
  /** The size of its disk, which is in the machine's memory. */
  readonly diskMiB: number;
  /** Whether containers continue while the engine is down. */
  readonly containers?: 'end-with-it' | 'outlive-it';
  /** The names of additional low-level runtimes. Each is runc under this name. */
  readonly runtimes?: readonly string[];
}

/**
 * A test's own Docker engine beside the machine's engine, with its own disk and network namespace. A test may stop it, kill it, let it
 * hang and fill its disk. Its containers use the network of the host, which is this namespace. Needs root. Disposing it removes
 * everything.
 */
export class OwnEngine implements AsyncDisposable {
  /** The folder that contains everything. */
  readonly home: string;
  readonly socket: string;
  /** A folder on its disk that does not belong to the engine. */
  readonly folder: string;
  readonly #containers: OwnEngineOptions['containers'];
  readonly #flags: readonly string[];
  #process: ChildProcess | undefined;
  readonly #children: ChildProcess[] = [];
  #log = '';

  private constructor(home: string, containers: OwnEngineOptions['containers'], flags: readonly string[]) {
    this.home = home;
    this.#containers = containers;
    this.#flags = flags;
    this.socket = join(home, 'docker.sock');
    this.folder = join(home, 'disk', 'folder');
  }

  static async start({ diskMiB, containers = 'end-with-it', runtimes = [] }: OwnEngineOptions): Promise<OwnEngine> {
    const home = await mkdtemp(join(tmpdir(), 'gantry-engine-'));
    const [disk, config] = [join(home, 'disk'), join(home, 'daemon.json')];
    const { stdout: version } = await run('dockerd', ['--version'], { env: { ...process.env, PATH } });
    // Older engines read their id from a file that all engines of a machine share.
    const isOld = Number(/version (\d+)/.exec(version)?.[1]) < 23;
    await writeFile(config, JSON.stringify(isOld ? { 'deprecated-key-path': join(home, 'key.json') } : {}));
    const engine = new OwnEngine(home, containers, [
      ...['--config-file', config, '--data-root', join(disk, 'engine'), '--exec-root', join(home, 'exec')],
      ...['--pidfile', join(home, 'pid'), '-H', `unix://${join(home, 'docker.sock')}`],
      ...['--containerd-namespace', nameOf(home), '--containerd-plugins-namespace', `plugins-${nameOf(home)}`],
      ...['--bridge', 'none', '--iptables=false', '--shutdown-timeout', '2'],
      ...(containers === 'outlive-it' ? ['--live-restore'] : []),
      ...runtimes.flatMap((name) => ['--add-runtime', `${name}=runc`]),
    ]);
    try {
      await mkdir(disk);
      await run('mount', ['-t', 'tmpfs', '-o', `size=${diskMiB}m`, nameOf(home), disk]);
      // Like in an engine's usual folder, containers see mounts in it.
      await run('mount', ['--make-rshared', disk]);
      await mkdir(engine.folder);
      await engine.begin();
      return engine;
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts the engine, after `end`. */
  async begin(): Promise<void> {
    const program = ['--net', 'sh', '-c', ALONE, 'engine', 'dockerd', ...this.#flags];
    const engine = spawn('unshare', program, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH } });
    this.#process = engine;
    this.#log = '';
    engine.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = `${this.#log}${text}`.slice(-LOG_LENGTH);
    });
    const answers = async () => {
      if (engine.exitCode !== null) throw new Error(`dockerd ended: ${this.#log}`);
      return await this.docker('info').then(
        () => true,
        () => false,
      );
    };
    await expect.poll(answers, POLL).toBe(true);
  }

  /** `SIGTERM` stops the engine, `SIGKILL` crashes it. Returns when the engine has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const engine = this.#process;
    if (engine === undefined || engine.exitCode !== null || engine.signalCode !== null) return;
    const ended = once(engine, 'close');
    engine.kill('SIGCONT');
    engine.kill(signal);
    await ended;
    // The next engine would wait for a containerd that has ended but has not been reaped yet.
    const containerd = await readIfThere(join(this.home, 'exec/containerd/containerd.pid'));
    if (containerd !== undefined) await expect.poll(() => exists(Number(containerd)), POLL).toBe(false);
  }

  /** From now on the engine accepts connections but does not answer. Its containers keep running. */
  hang(): void {
    this.#process?.kill('SIGSTOP');
  }

  /** The engine answers again, including the requests that it got meanwhile. */
  wake(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Returns the output of a `docker` command on this engine. The command must succeed. */
  async docker(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('docker', args, { env: { ...process.env, DOCKER_HOST: `unix://${this.socket}` } });
    return stdout.trim();
  }

  /** Copies images from the machine's engine to this engine. */
  async load(...images: readonly string[]): Promise<void> {
    const copy = 'docker save "$@" | docker -H "$ENGINE" load -q';
    await run('sh', ['-c', copy, 'copy', ...images], { env: { ...process.env, ENGINE: `unix://${this.socket}` } });
  }

  /** Starts a program in the engine's network namespace. The program ends when the engine is disposed. */
  spawn(program: string, args: readonly string[]): ChildProcess {
    const inside = [`--net=/proc/${this.#process?.pid}/ns/net`, program, ...args];
    const child = spawn('nsenter', inside, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill();
    await this.end('SIGTERM');
    if (this.#containers === 'outlive-it') {
      await this.begin();
      const left = (await this.docker('ps', '-aq')).split('\n').filter((id) => id !== '');
      if (left.length > 0) await this.docker('rm', '-f', ...left);
      await this.end('SIGTERM');
    }
    await linuxMounts().remove(this.home);
  }
}

/** The name of its mount and of its part of a containerd that engines share. */
function nameOf(home: string): string {
  return basename(home);
}

/** Whether a process with this id exists. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

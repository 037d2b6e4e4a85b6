import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { type Result, type RunOptions, runProgram } from './process.ts';

const ENGINE_MS = 120_000;
const LOAD_MS = 300_000;

/** Its views of the kernel's devices are those of its own network namespace; control groups are the machine's. */
const START = `
groups=$(mktemp -d)
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --rbind "$groups" /sys/fs/cgroup
exec "$@"
`;

/** Mounts appear in the namespaces of its containers, as where systemd has mounted the root, and not in this machine's. */
const START_SHARED = `
mount --make-rshared /
${START}`;

/** Where clients look for an engine unless told otherwise. */
const USUAL_SOCKET = '/run/docker.sock';

export interface HostLabOptions {
  /** The folders where the engine's programs are looked for; this machine's, unless told otherwise. */
  readonly path?: string;
  /** The address and prefix of the engine's own bridge, if it is to have one. */
  readonly bridge?: string;
  /**
   * `own`: it has its own first process, which its containers may enter where they could not enter this machine's, and its root is mounted
   * shared. All its processes end with it.
   */
  readonly processes?: 'own' | 'shared';
}

export type LinkState = 'up' | 'down';

/** The link between two labs. */
export interface HostLink {
  readonly set: (state: LinkState) => Promise<void>;
}

/**
 * A "machine" for tests: a network namespace with a link to this one and a Docker engine of its own. It has this machine's kernel and
 * programs. Dispose of it to remove all of that.
 */
export class HostLab implements AsyncDisposable {
  readonly address: string;
  readonly socket: string;
  readonly #name: string;
  readonly #folder: string;
  readonly #options: Required<HostLabOptions>;
  readonly #gateway: string;
  #engine: ChildProcess | undefined;

  private constructor(number: number, folder: string, options: HostLabOptions) {
    this.#name = `gth${process.pid}-${number}`;
    this.#folder = folder;
    this.#options = { path: process.env['PATH'] ?? '', bridge: 'none', processes: 'shared', ...options };
    this.address = `10.231.${number}.2`;
    this.#gateway = HostLab.gateway(number);
    this.socket = join(folder, 'docker.sock');
  }

  /** The address of this machine on the link. */
  static gateway(number: number): string {
    return `10.231.${number}.1`;
  }

  static async create(number: number, options: HostLabOptions = {}): Promise<HostLab> {
    const lab = new HostLab(number, await mkdtemp(join(tmpdir(), 'gantry-host-')), options);
    try {
      await lab.#connect();
      await lab.#startEngine();
      return lab;
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Takes the link to this machine down, or up. */
  async setLink(state: LinkState): Promise<void> {
    await must('ip', ['link', 'set', this.#link, state]);
  }

  /** Sends what is for an address by this machine: one of its addresses on other links, for instance. */
  async routeByGateway(address: string): Promise<void> {
    await must('ip', ['-n', this.#name, 'route', 'add', `${address}/32`, 'via', this.#gateway]);
  }

  /** Connects two labs by a link of their own: without it they do not reach each other. It goes with them. */
  static async connect(one: HostLab, other: HostLab): Promise<HostLink> {
    const ends = [
      { lab: one, peer: other, device: `${one.#name}p`, address: '10.231.255.1' },
      { lab: other, peer: one, device: `${other.#name}p`, address: '10.231.255.2' },
    ] as const;
    const [first, second] = ends;
    const peer = ['peer', 'name', second.device, 'netns', other.#name];
    await must('ip', ['-n', one.#name, 'link', 'add', first.device, 'type', 'veth', ...peer]);
    const set = async (state: LinkState) => {
      for (const { lab, device } of ends) await must('ip', ['-n', lab.#name, 'link', 'set', device, state]);
      if (state === 'down') return;
      // The kernel has removed the routes with the link.
      for (const { lab, peer, device } of ends) {
        await must('ip', [
          '-n',
          lab.#name,
          'route',
          'replace',
          `${peer.address}/32`,
          'dev',
          device,
          'src',
          lab.address,
        ]);
      }
    };
    for (const { lab, device, address } of ends) {
      await must('ip', ['-n', lab.#name, 'address', 'add', `${address}/30`, 'dev', device]);
    }
    await set('up');
    return { set };
  }

  /** Runs a program on the machine, with its engine. */
  run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Result> {
    const inside = [`--net=/run/netns/${this.#name}`, program, ...args];
    return runProgram('nsenter', inside, { env: { DOCKER_HOST: `unix://${this.socket}`, ...env }, timeoutMs: LOAD_MS });
  }

  async must(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    return output(`${program} ${args.join(' ')}`, await this.run(program, args, env));
  }

  /**
   * Runs a program as on the machine itself: with the engine's view of files and mounts too, in which its socket is at the usual place.
   * Its output is this process's. Returns its exit code.
   */
  async runInside(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
    const inside = [...(await this.#insideArguments()), program, ...args];
    const child = spawn('nsenter', inside, { stdio: 'inherit', env: { ...process.env, ...env } });
    return await new Promise((resolve, reject) => {
      child.once('error', reject).once('close', (code) => resolve(code ?? 1));
    });
  }

  /** Ends the engine, as when it is stopped or as when it crashes, and starts it again. */
  async restartEngine(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#endEngine(signal);
    await this.#startEngine();
  }

  /**
   * Cuts the power, and switches it on again: all processes, the engine's runtime files, its mounts and all networks are gone. Only for a
   * lab with processes of its own.
   */
  async reboot(): Promise<void> {
    await this.#endEngine('SIGKILL');
    await this.#disconnect();
    for (const name of ['exec', 'pid', 'docker.sock'])
      await rm(join(this.#folder, name), { recursive: true, force: true });
    await this.#connect();
    await this.#startEngine();
  }

  /** Gives the machine's engine images of this one's. */
  async load(images: readonly string[]): Promise<void> {
    const file = join(this.#folder, 'images.tar');
    await must('docker', ['save', '-o', file, ...images]);
    await this.must('docker', ['load', '-q', '-i', file]);
    await rm(file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endEngine('SIGTERM');
    await this.#disconnect();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #link(): string {
    return `${this.#name}a`;
  }

  async #connect(): Promise<void> {
    await must('ip', ['netns', 'add', this.#name]);
    const peer = `${this.#name}b`;
    await must('ip', ['link', 'add', this.#link, 'type', 'veth', 'peer', 'name', peer, 'netns', this.#name]);
    await must('ip', ['address', 'add', `${this.#gateway}/24`, 'dev', this.#link]);
    await must('ip', ['link', 'set', this.#link, 'up']);
    await must('ip', ['-n', this.#name, 'address', 'add', `${this.address}/24`, 'dev', peer]);
    await must('ip', ['-n', this.#name, 'link', 'set', peer, 'up']);
    await must('ip', ['-n', this.#name, 'link', 'set', 'lo', 'up']);
  }

  async #disconnect(): Promise<void> {
    await runProgram('ip', ['link', 'delete', this.#link]);
    await runProgram('ip', ['netns', 'delete', this.#name]);
  }

  /** The arguments of nsenter(1) with which a program runs as on the machine itself. */
  async #insideArguments(): Promise<readonly string[]> {
    const own = this.#options.processes === 'own' ? ['--pid'] : [];
    return ['--target', String(await this.#firstProcess()), '--net', '--mount', ...own, '--'];
  }

  /** The process of the engine, or the parent that it has in a process namespace of its own. */
  async #firstProcess(): Promise<number | undefined> {
    const pid = this.#engine?.pid;
    if (pid === undefined || this.#options.processes === 'shared') return pid;
    return Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim());
  }

  async #endEngine(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const engine = this.#engine;
    if (engine === undefined || engine.exitCode !== null || engine.signalCode !== null) return;
    const ended = new Promise((resolve) => engine.once('close', resolve));
    const first = await this.#firstProcess();
    if (first !== undefined && first !== 0) process.kill(first, signal);
    await ended;
    if (this.#options.processes === 'own') return;
    // The next engine would wait for a containerd that is no more, but has not been reaped yet.
    const file = join(this.#folder, 'exec/containerd/containerd.pid');
    const containerd = existsSync(file) ? await readFile(file, 'utf8') : undefined;
    if (containerd === undefined) return;
    await eventually('containerd has ended', ENGINE_MS, () => !existsSync(`/proc/${containerd.trim()}`));
  }

  async #startEngine(): Promise<void> {
    const { path, bridge, processes } = this.#options;
    const env = { ...process.env, PATH: path };
    const version = await must('dockerd', ['--version'], env);
    const config = join(this.#folder, 'daemon.json');
    // Older engines have their id of a file that all engines of a machine share.
    const ownId =
      Number(/version (\d+)/.exec(version)?.[1]) < 23 ? { 'deprecated-key-path': join(this.#folder, 'key.json') } : {};
    await writeFile(config, JSON.stringify(ownId));
    const [data, exec, pid] = ['data', 'exec', 'pid'].map((name) => join(this.#folder, name)) as [
      string,
      string,
      string,
    ];
    await mkdir(data, { recursive: true });
    const flags = [
      ...['--config-file', config, '--data-root', data, '--exec-root', exec, '--pidfile', pid],
      ...['-H', `unix://${this.socket}`, '--containerd-namespace', this.#name],
      ...['--containerd-plugins-namespace', `plugins-${this.#name}`],
      ...(bridge === 'none' ? ['--bridge', 'none'] : ['--bip', bridge]),
    ];
    const own = processes === 'own';
    const inside = [
      ...[`--net=/run/netns/${this.#name}`, 'unshare', '--mount', '--propagation', 'private'],
      ...(own ? ['--pid', '--fork', '--kill-child', '--mount-proc'] : []),
      ...['sh', '-c', own ? START_SHARED : START, 'engine'],
      // The parent of what loses its own, in a process namespace.
      ...(own ? ['docker-init', '--'] : []),
    ];
    const engine = spawn('nsenter', [...inside, 'dockerd', ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
    });
    this.#engine = engine;
    let log = '';
    engine.stderr?.setEncoding('utf8').on('data', (text: string) => (log = `${log}${text}`.slice(-2000)));
    await eventually('the engine answers', ENGINE_MS, async () => {
      if (engine.exitCode !== null) throw new Error(`dockerd ended: ${log}`);
      return (await this.run('docker', ['info'])).code === 0;
    });
    await readFile(pid);
    await must('nsenter', [...(await this.#insideArguments()), 'mount', '--bind', this.socket, USUAL_SOCKET]);
  }
}

async function must(program: string, args: readonly string[], env: RunOptions['env'] = {}): Promise<string> {
  return output(`${program} ${args.join(' ')}`, await runProgram(program, args, { env, timeoutMs: LOAD_MS }));
}

function output(what: string, { code, stdout, stderr }: Result): string {
  if (code !== 0) throw new Error(`${what} ended with ${code}: ${stderr}${stdout}`);
  return stdout.trim();
}

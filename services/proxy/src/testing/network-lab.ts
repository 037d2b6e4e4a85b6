import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { must } from '@gantry/base';
import { formatIpv4, type KubeObject, parseIpv4Range, type Resource } from '@gantry/objects';
import type { RulesWritten } from './host-process.ts';

const run = promisify(execFile);
const CLUSTER_ID = 'gantry-lab';
const POD_BRIDGE = 'gtp-lab';
export const TUNNEL = 'gtv-lab';
/** The MTU of the network between the hosts. */
const UNDERLAY_MTU = 1400;
/** The wait for connections that must fail. It is long enough for a packet and its reply. */
const REFUSED_MS = 1000;
/** The wait for connections that must succeed, on a busy machine. */
const REACHED_MS = 60_000;

/** A namespace with a process that sends and receives. */
export interface Place {
  readonly address: string;
  listen(port: number): Promise<void>;
  /** Returns the address that the server saw, or `failed` if the server was not reached. */
  reach(address: string, port: number, bytes?: number): Promise<string>;
  /** Connects repeatedly for this time, and returns the milliseconds of each connection. Throws if a connection fails. */
  connectAgain(address: string, port: number, durationMs: number): Promise<readonly number[]>;
  /** Returns `failed` if the server is not reached within a second. */
  try(address: string, port: number): Promise<string>;
  send(address: string, port: number, payload: Buffer, source?: string): Promise<string>;
  /** Returns the received datagrams, each with its sender's address. */
  received(): Promise<readonly string[]>;
}

/** A namespace that stands for a host. It has an engine's rules and a pod bridge. */
export interface LabHost {
  readonly address: string;
  readonly cidr: string;
  /** Returns the n-th address of its range. */
  at(n: number): string;
  ip(...args: readonly string[]): Promise<string>;
  run(...command: readonly string[]): Promise<string>;
  /** Returns its links, routes and neighbours and the names of its rule tables, in sorted lines. */
  state(): Promise<string>;
  /** Returns all of its rules. */
  rules(): Promise<string>;
  /** Returns a pod with the n-th address. */
  pod(n: number, mtu?: number): Promise<Place>;
  /** Starts its proxy with initial objects. */
  start(given?: readonly Given[]): void;
  take(resource: Resource, object: KubeObject | undefined, old?: KubeObject): void;
  /** Returns the proxy's next transaction that no earlier call has returned. */
  written(): Promise<RulesWritten>;
  /** Ends its proxy and removes everything of it. */
  remove(): Promise<void>;
}

/** An object in the form of a proxy's cache. */
export interface Given {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Hosts, pods and other machines on one network, each in its own network namespace. Closing it removes everything. */
export class Lab {
  readonly #prefix = `gtlab${randomBytes(3).toString('hex')}`;
  readonly #namespaces: string[] = [];
  readonly #children: ChildProcess[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'gantry-lab-'));
  readonly #wire = `${this.#prefix}w`;

  async open(): Promise<void> {
    await this.#namespace(this.#wire);
    await inside(this.#wire, 'ip', 'link', 'add', 'wire', 'mtu', String(UNDERLAY_MTU), 'up', 'type', 'bridge');
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all(
      this.#children.map(async (child) => child.exitCode ?? child.signalCode ?? (await once(child, 'exit'))),
    );
    for (const name of this.#namespaces) await run('ip', ['netns', 'delete', name]);
    rmSync(this.#folder, { recursive: true });
  }

  /** Returns a machine on the network between the hosts. */
  async outsider(n: number): Promise<Place> {
    const name = await this.#onWire(n);
    return this.#place(name, underlay(n));
  }

  /** Returns a program on the host itself. */
  on(host: LabHost): Place {
    return this.#place(`${this.#prefix}h${host.address.split('.')[3] ?? ''}`, host.address);
  }

  /** Gives a pod an additional address that its host does not know. */
  async addAddress({ address }: Place, more: string): Promise<void> {
    await inside(this.#podNamespace(address), 'ip', 'address', 'add', `${more}/32`, 'dev', 'eth0');
  }

  #podNamespace(address: string): string {
    return `${this.#prefix}p${address.replaceAll('.', '-')}`;
  }

  /** Returns the n-th host. Its pods have their own range. */
  async host(n: number): Promise<LabHost> {
    const name = await this.#onWire(n);
    const first = must(parseIpv4Range(`10.128.${16 * (n - 1)}.0/20`), 'a range').first;
    const cidr = `${formatIpv4(first)}/20`;
    const at = (index: number) => formatIpv4(first + index);
    await inside(name, 'sh', '-c', engineScript(cidr, at(1)));
    const environment = hostEnvironment(cidr, underlay(n), join(this.#folder, name));
    let proxy: ChildProcess | undefined;
    let reports: AsyncIterator<string> | undefined;
    const remove = async () => {
      proxy?.stdin?.end();
      if (proxy !== undefined && proxy.exitCode === null) await once(proxy, 'exit');
      await run('ip', ['netns', 'exec', name, ...nodeCommand('host-process.ts'), 'remove'], { env: environment });
    };
    return {
      address: underlay(n),
      cidr,
      at,
      ip: (...args) => inside(name, 'ip', ...args),
      run: (...command) => inside(name, ...command),
      state: async () => await inside(name, 'sh', '-c', STATE),
      rules: async () => await inside(name, 'sh', '-c', RULES),
      pod: async (index, mtu = 1500) => await this.#pod(name, at(index), at(1), mtu),
      start: (given = []) => {
        proxy = this.#child(name, 'host-process.ts', environment);
        reports = createInterface({ input: must(proxy.stdout, 'its output') })[Symbol.asyncIterator]();
        proxy.stdin?.write(`${given.map((one) => `${JSON.stringify(one)}\n`).join('')}\n`);
      },
      written: async () => {
        const report = await must(reports, 'a proxy that was started').next();
        if (report.done === true) throw new Error('the proxy has ended');
        return JSON.parse(report.value) as RulesWritten;
      },
      take: (resource, object, old) => {
        proxy?.stdin?.write(`${JSON.stringify({ resource, object, old })}\n`);
      },
      remove,
    };
  }

  async #pod(host: string, address: string, gateway: string, mtu: number): Promise<Place> {
    const name = this.#podNamespace(address);
    await this.#namespace(name);
    const port = `gp${address.split('.').slice(2).join('x')}`;
    const script = [
      `ip link add name ${port} mtu ${mtu} netns ${host} type veth peer name eth0 mtu ${mtu} netns ${name}`,
      `ip -n ${host} link set ${port} master ${POD_BRIDGE} up`,
      `ip -n ${host} link set ${port} type bridge_slave hairpin on`,
      `ip -n ${name} address add ${address}/20 dev eth0`,
      `ip -n ${name} link set eth0 up`,
      `ip -n ${name} route add default via ${gateway}`,
    ];
    await run('sh', ['-ec', script.join('\n')]);
    return this.#place(name, address);
  }

  async #onWire(n: number): Promise<string> {
    const name = `${this.#prefix}h${n}`;
    await this.#namespace(name);
    const script = [
      `ip link add name port${n} mtu ${UNDERLAY_MTU} netns ${this.#wire} type veth peer name eth0 mtu ${UNDERLAY_MTU} netns ${name}`,
      `ip -n ${this.#wire} link set port${n} master wire up`,
      `ip -n ${name} address add ${underlay(n)}/24 dev eth0`,
      `ip -n ${name} link set eth0 up`,
    ];
    await run('sh', ['-ec', script.join('\n')]);
    return name;
  }

  async #namespace(name: string): Promise<void> {
    await run('ip', ['netns', 'add', name]);
    this.#namespaces.push(name);
    await inside(name, 'ip', 'link', 'set', 'lo', 'up');
  }

  #child(namespace: string, file: string, env: NodeJS.ProcessEnv): ChildProcess {
    const [program = '', ...args] = ['ip', 'netns', 'exec', namespace, ...nodeCommand(file)];
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
    this.#children.push(child);
    return child;
  }

  #place(namespace: string, address: string): Place {
    const child = this.#child(namespace, 'pod-process.ts', process.env);
    const waiting = new Map<number, (result: unknown) => void>();
    let last = 0;
    createInterface({ input: must(child.stdout, 'its output') }).on('line', (line) => {
      const { id, result } = JSON.parse(line) as { readonly id: number; readonly result: unknown };
      waiting.get(id)?.(result);
      waiting.delete(id);
    });
    const ask = async (command: object): Promise<unknown> => {
      const id = ++last;
      const { promise, resolve } = Promise.withResolvers<unknown>();
      waiting.set(id, resolve);
      child.stdin?.write(`${JSON.stringify({ id, ...command })}\n`);
      return await promise;
    };
    const reach = async (to: string, port: number, bytes: number, timeoutMs: number) =>
      (await ask({ kind: 'connect', address: to, port, bytes, timeoutMs })) as string;
    return {
      address,
      listen: async (port) => {
        await ask({ kind: 'listen', port });
      },
      connectAgain: async (to, port, durationMs) => {
        const times = await ask({ kind: 'connectAgain', address: to, port, timeoutMs: durationMs });
        if (typeof times === 'string') throw new Error(`${to}:${port}: ${times}`);
        return times as readonly number[];
      },
      reach: (to, port, bytes = 0) => reach(to, port, bytes, REACHED_MS),
      try: (to, port) => reach(to, port, 0, REFUSED_MS),
      send: async (to, port, payload, source = '') =>
        (await ask({ kind: 'send', address: to, port, payload: payload.toString('hex'), source })) as string,
      received: async () => (await ask({ kind: 'received' })) as readonly string[],
    };
  }
}

function nodeCommand(file: string): readonly string[] {
  return [process.execPath, '--conditions=gantry-source', join(import.meta.dirname, file)];
}

async function inside(namespace: string, ...command: readonly string[]): Promise<string> {
  return (await run('ip', ['netns', 'exec', namespace, ...command])).stdout;
}

function underlay(n: number): string {
  return `192.0.2.${n}`;
}

function hostEnvironment(podCidr: string, address: string, runDir: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    GANTRY_CLUSTER_ID: CLUSTER_ID,
    GANTRY_SERVER: 'https://127.0.0.1:6443',
    GANTRY_POD_CIDR: podCidr,
    GANTRY_SERVICE_CIDR: '10.96.0.0/16',
    GANTRY_CONTROL_CIDR: '10.128.240.0/24',
    GANTRY_POD_BRIDGE: POD_BRIDGE,
    GANTRY_HOST_ADDRESS: address,
    GANTRY_RUN_DIR: runDir,
  };
}

/** Sets up a network like an engine: a bridge, and rules that drop unpublished ports and masquerade outgoing packets. */
function engineScript(cidr: string, gateway: string): string {
  return `set -e
echo 1 > /proc/sys/net/ipv4/ip_forward
ip link add ${POD_BRIDGE} up type bridge
ip address add ${gateway}/20 dev ${POD_BRIDGE}
iptables-nft -w -P FORWARD DROP
iptables-nft -w -N DOCKER-USER
iptables-nft -w -A DOCKER-USER -j RETURN
iptables-nft -w -A FORWARD -j DOCKER-USER
iptables-nft -w -A FORWARD -i ${POD_BRIDGE} -o ${POD_BRIDGE} -j ACCEPT
iptables-nft -w -A FORWARD -i ${POD_BRIDGE} ! -o ${POD_BRIDGE} -j ACCEPT
iptables-nft -w -A FORWARD -o ${POD_BRIDGE} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
iptables-nft -w -t nat -A POSTROUTING -s ${cidr} ! -o ${POD_BRIDGE} -j MASQUERADE
iptables-nft -w -t raw -A PREROUTING -d ${cidr} ! -i ${POD_BRIDGE} -j DROP`;
}

const RULES = `nft list ruleset | sed 's/counter packets [0-9]* bytes [0-9]*//'`;
const STATE = `{ nft list tables; ls /sys/class/net | grep -v '^gp[0-9]'; ip -o link show ${TUNNEL} 2>/dev/null | sed 's/^[0-9]*: //'
ip -4 route show table all; ip -4 neighbour show nud permanent; bridge fdb show dev ${TUNNEL} 2>/dev/null; } | sort`;

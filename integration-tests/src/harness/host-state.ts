import { readdir, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { type AddressRange, isWithin, parseIpv4Range } from '@gantry/objects';
import { runProgram } from './process.ts';

/** What a cluster may change on its host, as lines: packet filters, routes, interfaces, and the engine's networks, volumes and containers. */
export type HostState = readonly string[];

/** Lines that one of two states has more often than the other. */
export interface Difference {
  readonly added: readonly string[];
  readonly lost: readonly string[];
}

/** A container's name and image, and the cluster that it belongs to: a pod's, or a service's. */
const CONTAINER = '{{.Names}} {{.Image}} {{.Label "gantry.cluster"}} {{.Label "com.docker.compose.project"}}';

/** A cluster, as lines of a host's state may name it. */
export interface ClusterTraces {
  /** `gantry-` and six characters, which are also part of the names of its interfaces and chains. */
  readonly clusterId: string;
  readonly ranges: readonly AddressRange[];
  /** Of its services. */
  readonly image: string;
}

/**
 * Reads the state of this host. Undefined where it cannot be read: on other systems than Linux, and for users other than root. The image
 * that `findImage` gives has an nft for where the host's fails: older versions are ended by a signal when they read rules that newer ones
 * have written, be they of a cluster whose containers are gone.
 */
export async function readHostState(findImage: () => Promise<string>): Promise<HostState | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  // Before the containers are listed: it may need one.
  const nft = await readNft(findImage);
  const [iptables, ip6tables, routes, routes6, rules, networks, volumes, containers, interfaces] = await Promise.all([
    output('iptables-save'),
    output('ip6tables-save'),
    output('ip', '-o', 'route', 'show', 'table', 'all'),
    output('ip', '-o', '-6', 'route', 'show', 'table', 'all'),
    output('ip', 'rule'),
    output('docker', 'network', 'ls', '--format', '{{.Name}} {{.Driver}}'),
    output('docker', 'volume', 'ls', '--format', '{{.Name}}'),
    output('docker', 'ps', '--all', '--format', CONTAINER),
    readInterfaces(),
  ]);
  const named = (name: string, lines: readonly string[]) => lines.map((line) => `${name}: ${line}`);
  return [
    ...named('nft', rulesOfNft(nft)),
    ...named('iptables', rulesOfIptables(iptables)),
    ...named('ip6tables', rulesOfIptables(ip6tables)),
    ...named('route', lastingRoutes(routes)),
    ...named('route', lastingRoutes(routes6)),
    ...named('rule', linesOf(rules)),
    ...named('network', linesOf(networks)),
    ...named('volume', linesOf(volumes)),
    ...named('container', linesOf(containers)),
    ...named('interface', interfaces),
  ].toSorted();
}

const LIST_RULES = ['nft', '--stateless', 'list', 'ruleset'] as const;

async function readNft(findImage: () => Promise<string>): Promise<string> {
  const [program, ...args] = LIST_RULES;
  const { code, stdout } = await runProgram(program, args);
  if (code === 0) return stdout;
  const rights = ['--network', 'host', '--cap-add', 'NET_ADMIN'];
  return await output('docker', 'run', '--rm', ...rights, await findImage(), ...LIST_RULES);
}

/** Each interface with the bridge that it is a port of: names of links to containers are random. */
async function readInterfaces(): Promise<readonly string[]> {
  const masterOf = async (name: string) => {
    try {
      return ` ${basename(await readlink(`/sys/class/net/${name}/master`))}`;
    } catch {
      // It is no port of a bridge, or has gone.
      return '';
    }
  };
  const names = await readdir('/sys/class/net');
  return await Promise.all(names.map(async (name) => `${name}${await masterOf(name)}`));
}

/** What the settings of a cluster say of its traces. */
export function tracesOf(settings: string): ClusterTraces {
  const valueOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(settings)?.[1] ?? '';
  const ranges = ['GANTRY_CONTROL_CIDR', 'GANTRY_POD_CIDR'].map((name) => parseIpv4Range(valueOf(name)));
  const clusterId = valueOf('GANTRY_CLUSTER_ID');
  const image = valueOf('GANTRY_IMAGE');
  if (clusterId === '' || ranges.includes(undefined)) throw new Error('the settings of the cluster name no cluster');
  return { clusterId, image, ranges: ranges.flatMap((range) => range ?? []) };
}

/** Whether others use the engine: containers of theirs come and go, and rules, interfaces and routes with them. */
export function hasOthers(state: HostState, traces: ClusterTraces): boolean {
  return state.some((line) => line.startsWith('container: ') && !isTrace(line, traces));
}

/** The lines that name the cluster, one of its interfaces or one of its addresses. */
export function linesOfCluster(state: HostState, traces: ClusterTraces): HostState {
  return state.filter((line) => isTrace(line, traces));
}

function isTrace(line: string, { clusterId, ranges }: ClusterTraces): boolean {
  if (line.toLowerCase().includes(clusterId.replace(/^gantry-/, ''))) return true;
  const addresses = line.match(/\d+\.\d+\.\d+\.\d+/g) ?? [];
  return addresses.some((address) => ranges.some((range) => isWithin(range, address)));
}

async function output(program: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args);
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`);
  return stdout;
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Each rule of `nft list ruleset` on a line of its own, after its table and chain. */
export function rulesOfNft(text: string): readonly string[] {
  const within: string[] = [];
  const rules: string[] = [];
  for (const line of linesOf(text)) {
    if (line.startsWith('#')) continue;
    if (line === '}') within.pop();
    else {
      rules.push([...within, line].join(' '));
      if (line.endsWith('{')) within.push(line);
    }
  }
  return rules;
}

/** The rules and chains of `iptables-save`, after their table, without counters. */
export function rulesOfIptables(text: string): readonly string[] {
  let table = '';
  return linesOf(text).flatMap((line) => {
    if (line.startsWith('#') || line === 'COMMIT') return [];
    if (line.startsWith('*')) table = line.slice(1);
    return line.startsWith('*') ? [line] : [`${table} ${line.replace(/\s*\[\d+:\d+\]/, '')}`];
  });
}

/** Routes without what the kernel says of a bridge that has had a container at some time. */
export function lastingRoutes(text: string): readonly string[] {
  return linesOf(text)
    .filter((line) => !/\b(?:fe80:|ff00:)/.test(line))
    .map((line) => line.replace(/ linkdown\b/, '').trim());
}

/** What has come and what has gone between two states. */
export function compareHostStates(before: HostState, after: HostState): Difference {
  return { added: surplus(after, before), lost: surplus(before, after) };
}

function surplus(lines: HostState, others: HostState): readonly string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0;
    counts.set(line, count - 1);
    return count <= 0;
  });
}

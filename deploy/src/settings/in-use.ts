import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { InUse, Network } from './choose-settings.ts';
import { type Cidr, parseRoutes } from './ranges.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';

/**
 * The ranges and ports in use on this machine and its engine. Networks, routes, Services and the published port of the cluster `own`
 * do not count.
 */
export async function readInUse(shell: Shell, own: OwnParts): Promise<InUse> {
  const routes = existsSync('/proc/net/route') ? parseRoutes(readFileSync('/proc/net/route', 'utf8')) : [];
  const ids = (await mustRun(shell, 'docker', ['network', 'ls', '-q', '--filter', 'driver=bridge'])).trim().split('\n');
  const format = '{{.Name}}{{range .IPAM.Config}} {{.Subnet}}{{end}}';
  // A network may be removed meanwhile: the others are printed all the same.
  const inspected = await shell.run('docker', ['network', 'inspect', '--format', format, ...ids]);
  const said = inspected.stderr.trim();
  if (inspected.code !== 0 && !said.split('\n').every((line) => /not found|no such network/i.test(line)))
    throw new CommandError(`docker network inspect failed (${inspected.code}): ${said}`);
  const networks = inspected.stdout
    .split('\n')
    .map((line) => line.trim().split(' '))
    .map(([name = '', ...subnets]): Network => ({ name, subnets }))
    .filter(({ name }) => name !== '');
  const isOwn = ({ name }: Network) => own.networks.includes(name);
  const volume = ['volume', 'ls', '-q', '--filter', `name=^${own.clusterId}_etcd-0$`];
  return {
    own: networks.filter(isOwn),
    ranges: [
      ...networks.filter((network) => !isOwn(network)).flatMap(({ subnets }) => subnets),
      ...routes.filter((route) => !own.bridges.includes(route.device)).map((route) => route.cidr),
      ...(await serviceRanges(shell, own.clusterId)),
    ],
    hasData: (await mustRun(shell, 'docker', volume)).trim() !== '',
    isPortFree: async (port) => own.ports.includes(port) || (await canListen(port)),
  };
}

/** The cluster whose own networks and port do not count. */
export interface OwnParts {
  readonly clusterId: string;
  readonly networks: readonly string[];
  readonly bridges: readonly string[];
  readonly ports: readonly number[];
}

/**
 * The Service ranges of other clusters, also of those that this machine has joined: of their proxies, which write the rules. No network and
 * no route shows them. The rules of a cluster stay while its containers are stopped.
 */
export async function serviceRanges(shell: Shell, ownId: string): Promise<readonly Cidr[]> {
  const proxies = ['ps', '-aq', '--filter', 'label=com.docker.compose.service=proxy'];
  const ids = (await mustRun(shell, 'docker', proxies)).split('\n').filter((id) => id !== '');
  if (ids.length === 0) return [];
  const format = '{{json .Config.Env}}';
  // A container may be removed meanwhile: the others are printed all the same.
  const { stdout } = await shell.run('docker', ['inspect', '--format', format, ...ids]);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => new Map((JSON.parse(line) as string[]).map((variable) => split(variable))))
    .filter((variables) => variables.get('GANTRY_CLUSTER_ID') !== ownId)
    .flatMap((variables) => variables.get('GANTRY_SERVICE_CIDR') ?? []);
}

function split(variable: string): [name: string, value: string] {
  const at = variable.indexOf('=');
  return [variable.slice(0, at), variable.slice(at + 1)];
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

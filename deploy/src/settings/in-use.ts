import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { InUse, Network } from './choose-settings.ts';
import { parseRoutes } from './ranges.ts';
import { mustRun, type Shell } from '../machine/shell.ts';

/**
 * The ranges and ports in use on this machine and its engine. Networks, routes and the published port of the cluster `own`
 * do not count.
 */
export async function readInUse(shell: Shell, own: OwnParts): Promise<InUse> {
  const routes = existsSync('/proc/net/route') ? parseRoutes(readFileSync('/proc/net/route', 'utf8')) : [];
  const ids = (await mustRun(shell, 'docker', ['network', 'ls', '-q', '--filter', 'driver=bridge'])).trim().split('\n');
  const format = '{{.Name}}{{range .IPAM.Config}} {{.Subnet}}{{end}}';
  const networks = (await mustRun(shell, 'docker', ['network', 'inspect', '--format', format, ...ids]))
    .split('\n')
    .map((line) => line.trim().split(' '))
    .map(([name = '', ...subnets]): Network => ({ name, subnets }))
    .filter(({ name }) => name !== '');
  const isOwn = ({ name }: Network) => own.networks.includes(name);
  return {
    own: networks.filter(isOwn),
    ranges: [
      ...networks.filter((network) => !isOwn(network)).flatMap(({ subnets }) => subnets),
      ...routes.filter((route) => !own.bridges.includes(route.device)).map((route) => route.cidr),
    ],
    isPortFree: async (port) => own.ports.includes(port) || (await canListen(port)),
  };
}

/** The cluster whose own networks and port do not count. */
export interface OwnParts {
  readonly networks: readonly string[];
  readonly bridges: readonly string[];
  readonly ports: readonly number[];
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

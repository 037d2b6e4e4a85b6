import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4 } from 'node:net';
import { findResource } from '@gantry/kinds';
import {
  CLOSED_RANGES,
  type EndpointAddress,
  type Endpoints,
  type Node,
  type Pod,
  type Service,
  StatusError,
  isReason,
} from '@gantry/objects';
import { errorMessage, must, type Random } from '@gantry/base';
import type { TlsSource } from '@gantry/tls';
import { agentBackend } from '../../agents/agent-connection.ts';
import type { RegistryReader, RequestContext } from '../../registry/index.ts';
import type { Backend } from '../../http/backend.ts';

export interface BackendOptions {
  readonly registry: RegistryReader;
  /** The client certificate for agents, and the CA of the agents' servers. */
  readonly tls: TlsSource;
  readonly random: Random;
  /** Whether a proxied address is allowed. By default all addresses except this machine's and `CLOSED_RANGES`. */
  readonly mayReach?: (address: string) => boolean;
  /** Resolves a host name. By default with the resolver of this machine. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** The parsed name in a proxy path: `name`, `name:port` or `scheme:name:port`. */
interface Wanted {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

const AGENT_PORT = 10250;
/** The certificates of pods are not verified, as in Kubernetes. */
const ANY_CERTIFICATE = { rejectUnauthorized: false } as const;
const PREFERRED = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'];

/** Finds the backend of a proxy request to a pod, service or node. Fails with StatusError when there is none. */
export async function findBackend(
  options: BackendOptions,
  context: RequestContext,
  { resource, namespace, id }: { readonly resource: string; readonly namespace: string; readonly id: string },
): Promise<Backend> {
  const kind = resource.replace(/s$/, '');
  const wanted = parseId(id);
  if (wanted === undefined) throw StatusError.badRequest(`invalid ${kind} request ${JSON.stringify(id)}`);
  const find: Lookup = (of, name) => read(options.registry, context, of, of === 'nodes' ? '' : namespace, name);
  switch (resource) {
    case 'pods':
      return ofPod(options, wanted, find);
    case 'services':
      return ofService(options, wanted, namespace, find);
    default:
      return ofNode(options, wanted, find);
  }
}

type Lookup = (resource: 'endpoints' | 'nodes' | 'pods' | 'services', name: string) => Promise<unknown>;

function parseId(id: string): Wanted | undefined {
  const parts = id.split(':');
  if (parts.length > 3) return undefined;
  const [scheme = '', name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  if (name === '' || !['', 'http', 'https'].includes(scheme)) return undefined;
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port };
}

async function read(
  registry: RegistryReader,
  context: RequestContext,
  resource: string,
  namespace: string,
  name: string,
): Promise<unknown> {
  const definition = must(findResource({ group: '', version: 'v1', resource }), resource);
  const { object } = await registry.get(context, { definition, namespace, name, subresource: '' }, '');
  return object;
}

async function ofPod(options: BackendOptions, { scheme, name, port }: Wanted, find: Lookup): Promise<Backend> {
  const { spec, status } = (await find('pods', name)) as Pod;
  const [first] = (spec?.containers ?? []).flatMap(({ ports }) => ports ?? []);
  const number = Number(port === '' ? (first?.containerPort ?? (scheme === 'https' ? 443 : 80)) : port);
  const host = status?.podIPs?.[0]?.ip ?? '';
  if (!mayReach(options, host)) throw StatusError.badRequest('address not allowed');
  return { scheme, host, port: checkedPort(host, number, port), tls: ANY_CERTIFICATE };
}

/** Throws for an invalid port, with the message of Kubernetes' dialer. */
function checkedPort(host: string, number: number, port: string): number {
  if (Number.isInteger(number) && number > 0 && number < 65536) return number;
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const why = /^\d+$/.test(port) ? `address ${port}: invalid port` : `lookup tcp/${port}: unknown port`;
  throw StatusError.unavailable(
    `error trying to reach service: dial tcp: ${why}${/^\d+$/.test(port) ? '' : ` (${where})`}`,
  );
}

async function ofService(
  options: BackendOptions,
  { scheme, name, port }: Wanted,
  namespace: string,
  find: Lookup,
): Promise<Backend> {
  let portName = port;
  if (/^[+-]?\d+$/.test(port)) {
    const { spec } = (await find('services', name)) as Service;
    const declared = (spec?.ports ?? []).find((one) => one.port === Number(port));
    if (declared === undefined) {
      throw StatusError.unavailable(`no service port ${Number(port)} found for service ${JSON.stringify(name)}`);
    }
    portName = declared.name ?? '';
  }
  const { subsets = [] } = (await find('endpoints', name)) as Endpoints;
  const candidates = shuffled(subsets, options.random).flatMap(({ addresses = [], ports = [] }) =>
    ports
      .filter((one) => (one.name ?? '') === portName)
      .flatMap((one) => shuffled(addresses, options.random).map((address) => ({ address, port: one.port }))),
  );
  for (const one of candidates) {
    if (!(await isOfPod(one.address, namespace, find))) continue;
    return { scheme, host: one.address.ip, port: one.port, tls: ANY_CERTIFICATE };
  }
  const id =
    subsets.length === 0 ? name : [scheme === 'https' ? 'https' : '', name, port].join(':').replace(/^:|:$/g, '');
  throw StatusError.unavailable(`no endpoints available for service ${JSON.stringify(id)}`);
}

/** Whether an endpoint is the address of a pod. Other endpoints are not used, since their writers could choose any target. */
async function isOfPod({ ip, targetRef }: EndpointAddress, namespace: string, find: Lookup): Promise<boolean> {
  if (targetRef === undefined || targetRef.namespace !== namespace) return false;
  try {
    const { status } = (await find('pods', targetRef.name ?? '')) as Pod;
    return (status?.podIPs ?? []).some((one) => one.ip === ip);
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}

async function ofNode(options: BackendOptions, { scheme, name, port }: Wanted, find: Lookup): Promise<Backend> {
  const { status } = (await find('nodes', name)) as Node;
  const addresses = status?.addresses ?? [];
  const found = PREFERRED.map((type) => addresses.find((one) => one.type === type)).find((one) => one !== undefined);
  if (found === undefined) {
    throw StatusError.unavailable('no preferred addresses found; known addresses: []');
  }
  const host = found.address;
  for (const address of await addressesOf(options, host)) {
    if (!mayReach(options, address)) throw StatusError.badRequest('address not allowed');
  }
  const own = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  const agent = own > 0 ? own : AGENT_PORT;
  if (port !== '' && port !== String(agent)) {
    return { scheme, host, port: checkedPort(host, Number(port), port), tls: ANY_CERTIFICATE };
  }
  // On the same port the agent serves HTTP/1.1 to clients that offer it, and gRPC to others.
  return agentBackend(options.tls, { node: name, host }, agent);
}

/** All addresses of a host. Each must be allowed, since the connection may use any of them. */
async function addressesOf({ resolve = resolveHere }: BackendOptions, host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return await resolve(host);
  } catch (error) {
    throw StatusError.badRequest(`lookup ${host}: ${errorMessage(error)}`);
  }
}

async function resolveHere(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

const UNREACHABLE = new BlockList();
for (const range of [...CLOSED_RANGES, '::/127', 'fe80::/10', 'ff00::/8']) {
  const [network = '', prefix] = range.split('/');
  UNREACHABLE.addSubnet(network, Number(prefix), isIPv4(network) ? 'ipv4' : 'ipv6');
}

/** Whether the address is allowed. By default loopback, link-local, multicast and other closed ranges are not. */
function mayReach(options: BackendOptions, address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  return options.mayReach?.(address) ?? !UNREACHABLE.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function shuffled<T>(values: readonly T[], random: Random): readonly T[] {
  const start = Math.floor(random() * values.length);
  return [...values.slice(start), ...values.slice(0, start)];
}

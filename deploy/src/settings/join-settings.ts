import { isIPv4 } from 'node:net';
import { defaultClusterCidr } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';
import type { Settings } from './choose-settings.ts';
import { formatVariables, variablesIn } from './settings-file.ts';

/** What a machine must know of a cluster that it joins: all but the token is public to those who reach its API. */
export interface ClusterFacts {
  readonly clusterId: string;
  /** The port of the API, at the first host's address. */
  readonly port: number;
  readonly grpcPort: number;
  readonly serviceCidr: string;
  readonly clusterCidr: string;
  readonly controlCidr: string;
  /** PEM: which servers are those of the cluster. */
  readonly authority: string;
}

/** The facts of the cluster with these settings. */
export function factsOf(settings: Settings, authority: string): ClusterFacts {
  const { clusterId, port, joinGrpcPort, serviceCidr, controlCidr, clusterCidr, podCidr } = settings;
  return {
    clusterId,
    port,
    grpcPort: joinGrpcPort,
    serviceCidr,
    controlCidr,
    clusterCidr: clusterCidr === '' ? defaultClusterCidr(podCidr) : clusterCidr,
    authority,
  };
}

/** One word for the command line. */
export function encodeFacts(facts: ClusterFacts): string {
  return Buffer.from(JSON.stringify(facts)).toString('base64url');
}

/** The inverse of `encodeFacts`; CommandError for other text. */
export function decodeFacts(text: string): ClusterFacts {
  const isNumber = (value: unknown) => typeof value === 'number' && Number.isInteger(value);
  try {
    const facts = JSON.parse(Buffer.from(text, 'base64url').toString()) as ClusterFacts;
    const texts = [facts.clusterId, facts.serviceCidr, facts.clusterCidr, facts.controlCidr, facts.authority];
    const isWhole = texts.every((value) => typeof value === 'string' && value !== '' && !value.includes('$'));
    if (isWhole && isNumber(facts.port) && isNumber(facts.grpcPort) && /^[a-z][a-z0-9-]*$/.test(facts.clusterId))
      return facts;
  } catch {
    // Said below.
  }
  throw new CommandError('--cluster is not what `npm run token` prints on the first host', 'copy the whole command');
}

/** The options of `npm run join`. */
export interface JoinOptions {
  readonly server: string;
  readonly token: string;
  readonly facts: ClusterFacts;
  /** This host's own address; '' to take the one from which it reaches the server. */
  readonly address: string;
  /** The first part of the names of its Nodes; '' for the engine's name of its host. */
  readonly name: string;
}

/** Checks the options; CommandError names the one that is wrong. */
export function joinOptions(values: Readonly<Record<string, string | undefined>>): JoinOptions {
  const { server = '', token = '', cluster = '', address = '', name = '' } = values;
  const refuse = (message: string) =>
    new CommandError(message, 'the command to run is what `npm run token` prints on the first host');
  if (!isIPv4(server)) throw refuse(`--server: ${JSON.stringify(server)} is not the IPv4 address of the first host`);
  if (!/^[a-z0-9]{6}\.[a-z0-9]{16,}$/.test(token)) throw refuse('--token has not the form abcdef.0123456789abcdef');
  if (address !== '' && !isIPv4(address)) throw refuse(`--address: ${JSON.stringify(address)} is not an IPv4 address`);
  if (address === server) throw refuse(`--address: ${address} is the first host's own`);
  if (!/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/.test(name) || name.length > 55)
    throw refuse(`--name: ${JSON.stringify(name)} is not a name of small letters, digits and hyphens`);
  return { server, token, facts: decodeFacts(cluster), address, name };
}

export interface JoinSettings {
  readonly options: JoinOptions;
  readonly address: string;
  readonly home: string;
  readonly image: string;
  readonly engineRoot: string;
  readonly engineSocket: string;
  /** The range of this host's pods; '' before it is known. */
  readonly podCidr: string;
}

/** The environment file of deploy/compose/join.yml. `before` is the former one, whose other variables stay. */
export function formatJoinSettings(settings: JoinSettings, before: string): string {
  const { options, podCidr } = settings;
  const { facts } = options;
  const [base = '', prefix = ''] = podCidr.split('/');
  const values = {
    GANTRY_CLUSTER_ID: facts.clusterId,
    GANTRY_API_ADDRESS: options.server,
    GANTRY_API_PORT: facts.port,
    GANTRY_API_GRPC_PORT: facts.grpcPort,
    GANTRY_SERVICE_CIDR: facts.serviceCidr,
    GANTRY_CLUSTER_CIDR: facts.clusterCidr,
    GANTRY_CONTROL_CIDR: facts.controlCidr,
    GANTRY_POD_CIDR: podCidr,
    // The engine chooses addresses of containers among the first quarter.
    GANTRY_POD_SERVICES_RANGE: podCidr === '' ? '' : `${base}/${Number(prefix) + 2}`,
    GANTRY_POD_BRIDGE: `gtp-${facts.clusterId.replace(/^gantry-/, '').slice(0, 11)}`,
    GANTRY_HOST_NAME: options.name,
    GANTRY_HOST_ADDRESS: settings.address,
    GANTRY_IMAGE: settings.image,
    GANTRY_ENGINE_ROOT: settings.engineRoot,
    GANTRY_ENGINE_SOCKET: settings.engineSocket,
    GANTRY_JOIN_HOME: settings.home,
  };
  const variables = formatVariables({ ...values, ...variablesIn(before), ...values });
  return `# Written by \`npm run join\`, which keeps the variables that you add. Read by deploy/compose/join.yml.\n${variables}`;
}

/** A value of an environment file of Compose; '' without it. */
export function valueIn(text: string, name: string): string {
  return variablesIn(text)[name] ?? '';
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { nodeAddressOf } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { AgentContainers, SelfContainer } from '../runtime/agent-containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import { checkedName, engineName, nodeName } from './node-identity.ts';
import type { StateFolder } from '../runtime/host-mounts.ts';

const FILE = 'key-volume';
/** The engine's names of anonymous volumes. No other volume is removed because this file names it. */
const ANONYMOUS = /^[0-9a-f]{64}$/;

/** The settings that decide who this agent is. */
export interface SelfSettings {
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly podNetwork: string;
  readonly podCidr: string;
  readonly stateDir: string;
  readonly keyDir: string;
}

/** An agent's identity: everything that it knows before its first API request. */
export interface Self {
  readonly name: string;
  readonly engineName: string;
  /** The Node's InternalIP: an address of the engine's host on the pods' network. */
  readonly address: string;
  /** The address of the engine's host on that network: the Node's ExternalIP. Undefined outside of a container. */
  readonly gatewayAddress: string | undefined;
  /** This node's own folder in the state volume. */
  readonly state: StateFolder;
  /** The state volume, shared by the agents of this host. */
  readonly shared: StateFolder;
  readonly container: SelfContainer | undefined;
}

/** Determines name, address and state folder by inspecting the agent's own container. AgentError 'Identity' with the problem. */
export async function findSelf(
  config: SelfSettings,
  engine: EngineInfo,
  agents: AgentContainers,
  signal: AbortSignal,
): Promise<Self> {
  const container = await agents.describeSelf(signal);
  const name = config.nodeName === '' ? nameOf(engine, container) : checkedName(config.nodeName);
  const address = config.nodeAddress === '' ? nodeAddress(config, container) : config.nodeAddress;
  const shared = { path: config.stateDir, hostPath: hostPathOf(config.stateDir, container) };
  const state = { path: join(shared.path, 'nodes', name), hostPath: join(shared.hostPath, 'nodes', name) };
  await mkdir(state.path, { recursive: true });
  const keys = container?.mounts.find(({ containerPath }) => containerPath === config.keyDir)?.volume;
  if (keys !== undefined) await writeKeyVolume(state.path, keys);
  const gatewayAddress = container?.gateways[config.podNetwork];
  return { name, engineName: engineName(engine.id), address, gatewayAddress, state, shared, container };
}

function nameOf(engine: EngineInfo, container: SelfContainer | undefined): string {
  if (container === undefined) {
    throw new AgentError(
      'Identity',
      'this agent runs in no container of the engine: set GANTRY_NODE_NAME and GANTRY_NODE_ADDRESS',
    );
  }
  return nodeName(engine.name, container);
}

/**
 * The Node's address. The proxy assigns it to the host and forwards its port 10250 to this container. A container whose address is
 * outside of the engine's part of the range has no such address; its Node uses the container's own.
 */
export function nodeAddress({ podNetwork, podCidr }: SelfSettings, container: SelfContainer | undefined): string {
  const own = container?.addresses[podNetwork] ?? '';
  if (own !== '') return nodeAddressOf(podCidr, own) ?? own;
  throw new AgentError(
    'Identity',
    `this agent is not on the network ${JSON.stringify(podNetwork)} (GANTRY_POD_NETWORK)`,
  );
}

/** The host's path of a folder, by which pods mount it. It comes from the innermost mount that contains the folder. */
export function hostPathOf(path: string, container: SelfContainer | undefined): string {
  if (container === undefined) return path;
  const holding = container.mounts
    .filter((mount) => path === mount.containerPath || path.startsWith(`${mount.containerPath.replace(/\/$/, '')}/`))
    .sort((a, b) => b.containerPath.length - a.containerPath.length)[0];
  if (holding === undefined) {
    throw new AgentError('Identity', `${path} (GANTRY_STATE_DIR) is not on a volume: pods cannot mount from it`);
  }
  return join(holding.hostPath, relative(holding.containerPath, path));
}

/**
 * Records in a node's state folder which volume contains its keys. Compose keeps this volume when it removes the agent; the custodian
 * removes it with the node.
 */
export async function writeKeyVolume(stateFolder: string, volume: string): Promise<void> {
  await writeFile(join(stateFolder, FILE), volume);
}

/** The recorded anonymous volume with a node's keys; undefined without a record. */
export async function readKeyVolume(stateFolder: string): Promise<string | undefined> {
  try {
    const volume = await readFile(join(stateFolder, FILE), 'utf8');
    return ANONYMOUS.test(volume) ? volume : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

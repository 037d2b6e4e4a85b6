import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentError } from '../agent-error.ts';
import type { AgentConfig } from '../config.ts';
import type { AgentContainers, SelfContainer } from '../runtime/agent-containers.ts';
import type { EngineInfo } from '../runtime/runtime.ts';
import type { StateFolder } from '../volumes/pod-volumes.ts';
import { checkedName, engineName, nodeName } from './node-identity.ts';

/** What an agent finds out about itself before it speaks to anybody. */
export interface Self {
  readonly name: string;
  readonly engineName: string;
  /** Its address on the pods' network: the Node's InternalIP. */
  readonly address: string;
  /** This node's own part of the state volume. */
  readonly state: StateFolder;
  /** The state volume, shared by the agents of this host. */
  readonly shared: StateFolder;
  readonly container: SelfContainer | undefined;
}

/** Finds name, address and state folder by looking at the own container through the socket. AgentError 'Identity' says what is wrong. */
export async function findSelf(
  config: AgentConfig,
  engine: EngineInfo,
  agents: AgentContainers,
  signal: AbortSignal,
): Promise<Self> {
  const container = await agents.describeSelf(signal);
  const name = config.nodeName === '' ? nameOf(engine, container) : checkedName(config.nodeName);
  const address = config.nodeAddress === '' ? container?.addresses[config.podNetwork] : config.nodeAddress;
  if (address === undefined || address === '') {
    throw new AgentError(
      'Identity',
      `this agent is not on the network ${JSON.stringify(config.podNetwork)} (GANTRY_POD_NETWORK)`,
    );
  }
  const shared = { path: config.stateDir, hostPath: hostPathOf(config.stateDir, container) };
  const state = { path: join(shared.path, 'nodes', name), hostPath: join(shared.hostPath, 'nodes', name) };
  await mkdir(state.path, { recursive: true });
  return { name, engineName: engineName(engine.id), address, state, shared, container };
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

/** Pods mount folders by their path on the engine's host: the longest mount that holds the folder says where that is. */
export function hostPathOf(path: string, container: SelfContainer | undefined): string {
  if (container === undefined) return path;
  const holding = container.mounts
    .filter((mount) => path === mount.containerPath || path.startsWith(`${mount.containerPath.replace(/\/$/, '')}/`))
    .sort((a, b) => b.containerPath.length - a.containerPath.length)[0];
  if (holding === undefined) {
    throw new AgentError('Identity', `${path} (GANTRY_STATE_DIR) is not on a volume: pods could not mount from it`);
  }
  return join(holding.hostPath, relative(holding.containerPath, path));
}

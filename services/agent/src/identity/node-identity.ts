import { AgentError } from '../runtime/agent-error.ts';
import type { SelfContainer } from '../runtime/agent-containers.ts';

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** `<host name>-<container number>`. AgentError 'Identity' for a container that cannot be a node. */
export function nodeName(hostName: string, self: SelfContainer): string {
  const { compose } = self;
  if (compose === undefined) {
    throw new AgentError(
      'Identity',
      'this container was not made by Docker Compose: set GANTRY_NODE_NAME to run it as a node',
    );
  }
  if (compose.kind === 'one-off') {
    throw new AgentError(
      'Identity',
      'one-off containers (`docker compose run`) share their number with a real agent and cannot be nodes',
    );
  }
  if (!Number.isInteger(compose.number) || compose.number < 1) {
    throw new AgentError('Identity', 'this container has no number of Docker Compose');
  }
  return checkedName(`${cleanHostName(hostName)}-${compose.number}`);
}

/** The node name of a host's first agent. AgentError 'Identity' when the host name is not usable. */
export function firstNodeName(hostName: string): string {
  return checkedName(`${cleanHostName(hostName)}-1`);
}

/** Returns `name`. AgentError 'Identity' when it is not a valid node name. */
export function checkedName(name: string): string {
  if (NAME.test(name) && name.length <= 63) return name;
  throw new AgentError(
    'Identity',
    `${JSON.stringify(name)} cannot be a node's name: it must be a DNS name of at most 63 characters`,
  );
}

function cleanHostName(name: string): string {
  const clean = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 55)
    .replace(/[-.]+$/, '');
  return clean === '' ? 'node' : clean;
}

/** The container number in a node's name; undefined for nodes of other hosts. */
export function numberOf(name: string, hostName: string): number | undefined {
  const prefix = `${cleanHostName(hostName)}-`;
  const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^[1-9]\d*$/.test(rest) ? Number(rest) : undefined;
}

/** The first 12 characters of an engine's id as a valid label and Lease name: lower case, `-` for other characters. */
export function engineName(engineId: string): string {
  return engineId
    .slice(0, 12)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .replaceAll(/^-+|-+$/g, '');
}

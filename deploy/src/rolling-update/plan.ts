/** A container of a service of the cluster. Two containers with the same service and number are an outdated one and its successor. */
export interface Replica {
  readonly id: string;
  readonly name: string;
  readonly service: string;
  readonly number: number;
  /** `running`, `exited`, `created`, … */
  readonly state: string;
  /** Compose's hash of the definition that it was made by. */
  readonly hash: string;
  /** The id of its image. */
  readonly imageId: string;
}

/** What a service's containers should be. */
export interface Definition {
  readonly service: string;
  /** Compose's hash; it covers the name of the image. */
  readonly hash: string;
  /** The id of the image that has the name now; undefined if the engine does not have it yet. */
  readonly imageId: string | undefined;
}

/** Replaces one container. `successor` has been started by an update that did not end. */
export interface Replacement {
  readonly outdated: Replica;
  readonly successor: Replica | undefined;
}

/**
 * The update of one service.
 *
 * - `overlapping`: the successor of each replica is healthy before the replica stops
 * - `one by one`: each replica stops before its successor starts, which is healthy before the next one stops
 * - `held`: as `one by one`, while new connections to its published ports wait
 * - `whole`: Compose replaces the only container
 */
export interface ServiceUpdate {
  readonly service: string;
  readonly how: 'overlapping' | 'one by one' | 'held' | 'whole';
  readonly replacements: readonly Replacement[];
}

/**
 * A service is newer than those that ask it, as clients of Kubernetes expect it: etcd before API servers, those before their clients, the
 * agents, whose pods need the others, after them. A replaced load balancer cuts all connections: last.
 */
const ORDER: readonly RegExp[] = [/^etcd-/, /^apiserver$/, /^(?!agent|load-balancer)/, /^agent$/, /^/];

/**
 * All others are `whole`. Two agents must never act for one node, and two containers cannot publish one port of the host, so those do not overlap.
 */
const HOW: Readonly<Record<string, ServiceUpdate['how']>> = {
  apiserver: 'overlapping',
  'controller-manager': 'overlapping',
  scheduler: 'overlapping',
  dns: 'overlapping',
  agent: 'one by one',
  'load-balancer': 'held',
  'agent-gateway': 'held',
};

/** Ids of containers whose turn depends on what they do. */
export interface Turns {
  /** The last ones of their services, so that a leader changes only once. */
  readonly leaders: ReadonlySet<string>;
  /** Members of etcd that do not respond: the first ones, since the others are replaced only while all respond. */
  readonly unhealthy: ReadonlySet<string>;
}

/**
 * The updates of all services with a running container that is not what its definition says, in order. Containers that do not run are
 * Compose's: nobody needs them.
 */
export function planUpdate(
  replicas: readonly Replica[],
  definitions: readonly Definition[],
  { leaders, unhealthy }: Turns = { leaders: new Set(), unhealthy: new Set() },
): readonly ServiceUpdate[] {
  const isUnhealthy = (of: string) => replicas.some(({ id, service }) => service === of && unhealthy.has(id));
  const rank = (service: string) =>
    2 * ORDER.findIndex((pattern) => pattern.test(service)) - (isUnhealthy(service) ? 1 : 0);
  return definitions
    .toSorted((one, other) => rank(one.service) - rank(other.service) || one.service.localeCompare(other.service))
    .map((definition): ServiceUpdate => {
      const { service } = definition;
      const own = replicas.filter((replica) => replica.service === service);
      const successorOf = ({ number }: Replica) =>
        own.find((one) => one.number === number && one.state === 'running' && isCurrent(one, definition));
      const replacements = own
        .filter((replica) => !isCurrent(replica, definition))
        .map((outdated): Replacement => ({ outdated, successor: successorOf(outdated) }))
        .filter(({ outdated, successor }) => outdated.state === 'running' || successor !== undefined)
        .toSorted(
          (one, other) =>
            Number(leaders.has(one.outdated.id)) - Number(leaders.has(other.outdated.id)) ||
            one.outdated.number - other.outdated.number,
        );
      return { service, how: HOW[service] ?? 'whole', replacements };
    })
    .filter(({ replacements }) => replacements.length > 0);
}

function isCurrent({ hash, imageId }: Replica, definition: Definition): boolean {
  return hash === definition.hash && (definition.imageId === undefined || imageId === definition.imageId);
}

/** Whether a service has a container that is not what its definition says. */
export function isOutdated(service: string, replicas: readonly Replica[], definitions: readonly Definition[]): boolean {
  const definition = definitions.find((one) => one.service === service);
  return definition !== undefined && replicas.some((one) => one.service === service && !isCurrent(one, definition));
}

/** The name that Compose gives a container. */
export function nameOf(clusterId: string, { service, number }: Pick<Replica, 'service' | 'number'>): string {
  return `${clusterId}-${service}-${number}`;
}

/** The name of a container that successors are made from. It never starts, and counts as no replica. */
export function modelNameOf(clusterId: string, service: string): string {
  return `${clusterId}-${service}-model`;
}

/** What an update that did not end has left. */
export interface Leftovers {
  /** Models, and successors that never ran or are outdated themselves by now. */
  readonly remove: readonly Replica[];
  /** Successors whose predecessor is gone. */
  readonly rename: readonly Replica[];
}

/** Leftovers among all containers of a cluster. */
export function findLeftovers(
  clusterId: string,
  replicas: readonly Replica[],
  definitions: readonly Definition[],
): Leftovers {
  const models = replicas.filter(({ name, service }) => name === modelNameOf(clusterId, service));
  const successors = replicas.filter((one) => !models.includes(one) && one.name !== nameOf(clusterId, one));
  const isReplaced = (one: Replica) =>
    replicas.some(({ id, service, number }) => id !== one.id && service === one.service && number === one.number);
  const isUseless = (one: Replica) => one.state === 'created' || isOutdated(one.service, [one], definitions);
  return {
    remove: [...models, ...successors.filter((one) => isReplaced(one) && isUseless(one))],
    rename: successors.filter((one) => !isReplaced(one)),
  };
}

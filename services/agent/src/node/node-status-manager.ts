import { type Clock, ControlLoop, errorMessage, Signal, untilDone } from '@gantry/base';
import {
  DRAINING_ANNOTATION,
  type ContainerImage,
  ENGINE_LABEL,
  equalJson,
  isReason,
  LEASES,
  type Node,
  NODES,
} from '@gantry/objects';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import type { Logger } from '@gantry/service';
import { AgentError } from '../runtime/agent-error.ts';
import type { EngineRuntime } from '../runtime/engine.ts';
import { newNode, nodeAnnotations, providerId, nodeLabels, type NodeObservation, nodeStatus } from './node-object.ts';
import { LEASE_NAMESPACE } from './heartbeat.ts';
import type { NodePressure } from '../spec/node-pressure.ts';
import type { HostShares } from './host-shares.ts';
import type { ImageRuntime, ListedImage } from '../runtime/images.ts';

/** The kubelet's limits: `nodeStatusMaxImages`, and names per image. */
const MAX_IMAGES = 50;
const MAX_NAMES = 5;
const REFRESH_MS = 60_000;
const CHECK_MS = 5_000;
const RETRY_MS = 500;
/** Immediate attempts when other clients write the Node at the same time, as in the kubelet. */
const ATTEMPTS = 5;
/** A Node whose Lease was renewed within this time is alive. */
const ALIVE_MS = 15_000;

export interface NodeStatusManagerOptions {
  readonly client: ObjectClient;
  readonly engine: EngineRuntime;
  readonly observation: Omit<
    NodeObservation,
    'engineFailure' | 'pressures' | 'host' | 'shares' | 'reserved' | 'images'
  >;
  /** Receives the number of Nodes on this engine. */
  readonly shares: HostShares;
  /** Receives the Node after each read and write. */
  readonly view: { readonly observe: (node: Node) => void };
  /** The pressure conditions of this node. */
  readonly pressures: () => readonly NodePressure[];
  readonly images: ImageList;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time between checks in milliseconds; 5000 when absent. */
  readonly checkMs?: number;
}

type NodeDraft = NodeStatusManagerOptions['observation'] & {
  readonly engineFailure: string | undefined;
  /** Undefined: keep the images in the Node's status. */
  readonly images: readonly ContainerImage[] | undefined;
};

/** Registers this agent's Node and keeps its labels and status up to date. Writes only differences. */
export class NodeStatusManager {
  readonly #options: NodeStatusManagerOptions;
  readonly #work = new Signal();

  constructor(options: NodeStatusManagerOptions) {
    this.#options = options;
  }

  /** Returns when the Node is registered. Waits while a live agent of another engine has the same name. */
  async register(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const onReason = (reason: string) => logger.info({ reason }, 'node is not registered yet');
    await untilDone({ clock, everyMs: RETRY_MS, onReason }, () => this.#sync(signal), signal);
  }

  /** Checks the Node periodically and after each `checkNow`. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, checkMs = CHECK_MS } = this.#options;
    const loop = new ControlLoop({
      round: () => this.#sync(signal),
      work: this.#work,
      intervalMs: checkMs,
      retry: { initialMs: RETRY_MS, maxMs: RETRY_MS },
      onError: (error) => logger.debug({ reason: errorMessage(error) }, 'node status was not written'),
      clock,
    });
    await this.#work.wait(clock, checkMs, signal);
    await loop.run(signal);
  }

  /** Checks the Node immediately: the control plane may have marked it as lost. */
  checkNow(): void {
    this.#work.notify();
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { observation: known, images: list } = this.#options;
    const engineFailure = await this.#engineFailure(signal);
    // Do not send further requests to an engine that is down.
    const images = engineFailure === undefined ? await list.read(signal) : undefined;
    const observation = { ...known, engineFailure, images };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#write(observation, signal);
        return;
      } catch (error) {
        if (attempt === ATTEMPTS || !isReason(error, 'Conflict')) throw error;
      }
    }
  }

  /** Every write is conditional on the version on which it is based. */
  async #write(draft: NodeDraft, signal: AbortSignal): Promise<void> {
    const { client, clock, shares, view, pressures } = this.#options;
    const key = { namespace: '', name: draft.name };
    const node = await this.#get(signal);
    const { host, reserved, count } = shares;
    const images = draft.images ?? node?.status?.images ?? [];
    const observation: NodeObservation = {
      ...draft,
      images,
      host,
      reserved,
      shares: count,
      pressures: pressures(),
    };
    if (node === undefined) {
      const object = newNode(observation, clock.now());
      view.observe(await client.create(NODES, object, signal));
      return;
    }
    const engine = node.metadata.labels?.[ENGINE_LABEL];
    if (engine !== undefined && engine !== observation.engineName && (await this.#isAlive(signal))) {
      throw new AgentError(
        'Identity',
        `node ${observation.name} belongs to a live agent of another engine (${engine})`,
      );
    }
    const patch = metadataPatch(node, observation);
    const current = patch === undefined ? node : await client.patch(NODES, key, { merge: patch }, signal);
    const status = nodeStatus(observation, current.status ?? {}, clock.now());
    view.observe(
      equalJson(status, current.status) ? current : await client.updateStatus(NODES, { ...current, status }, signal),
    );
  }

  /** Reads this Node together with the other Nodes of its engine, which determines how many share the host. */
  async #get(signal: AbortSignal): Promise<Node | undefined> {
    const { client, observation, shares } = this.#options;
    const { name, engineName } = observation;
    const { items } = await client.list(NODES, { labelSelector: `${ENGINE_LABEL}=${engineName}` }, signal);
    const own = items.find(({ metadata }) => metadata.name === name);
    shares.observe(own === undefined ? items.length + 1 : items.length);
    // A Node of another engine's agent or of an earlier version has another label or none.
    return own ?? (await ignoreNotFound(client.get(NODES, { namespace: '', name }, signal)));
  }

  async #isAlive(signal: AbortSignal): Promise<boolean> {
    const { client, observation, clock } = this.#options;
    const key = { namespace: LEASE_NAMESPACE, name: observation.name };
    const lease = await ignoreNotFound(client.get(LEASES, key, signal));
    return lease !== undefined && clock.now() - Date.parse(lease.spec?.renewTime ?? '') < ALIVE_MS;
  }

  async #engineFailure(signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#options.engine.ping(signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return errorMessage(error);
    }
  }
}

/**
 * Adds missing labels and the provider id, which never changes, updates annotations of the host, and ends a drain, because the agent has
 * come back.
 */
function metadataPatch(node: Node, observed: NodeObservation): object | undefined {
  const missing = Object.entries(nodeLabels(observed)).filter(
    ([name, value]) => node.metadata.labels?.[name] !== value,
  );
  const { [DRAINING_ANNOTATION]: draining, ...present } = node.metadata.annotations ?? {};
  const isDraining = draining !== undefined;
  const isNamed = (node.spec?.providerID ?? '') !== '';
  const others = Object.entries(nodeAnnotations(observed)).filter(([name, value]) => (present[name] ?? '') !== value);
  if (missing.length === 0 && !isDraining && isNamed && others.length === 0) return undefined;
  const { uid, resourceVersion } = node.metadata;
  const annotations = {
    ...(isDraining ? { [DRAINING_ANNOTATION]: null } : {}),
    ...Object.fromEntries(others.map(([name, value]) => [name, value === '' ? null : value])),
  };
  return {
    metadata: {
      uid,
      resourceVersion,
      labels: Object.fromEntries(missing),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: { ...(isDraining ? { unschedulable: null } : {}), ...(isNamed ? {} : { providerID: providerId(observed) }) },
  };
}

/** The images for a Node's status, largest first. */
export function nodeImages(listed: readonly ListedImage[]): ContainerImage[] {
  return listed
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes || (one.id < other.id ? -1 : 1))
    .slice(0, MAX_IMAGES)
    .map(({ names, sizeBytes }) => ({ names: names.slice(0, MAX_NAMES), sizeBytes }));
}

/** The images of an engine, listed once a minute. When listing fails, the previous list is kept. */
export class ImageList {
  readonly #images: Pick<ImageRuntime, 'listImages'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #shown: ContainerImage[] = [];
  #dueMs = -Infinity;

  constructor(images: Pick<ImageRuntime, 'listImages'>, clock: Clock, logger: Logger) {
    this.#images = images;
    this.#clock = clock;
    this.#logger = logger;
  }

  async read(signal: AbortSignal): Promise<ContainerImage[]> {
    if (this.#clock.monotonicMs() < this.#dueMs) return this.#shown;
    try {
      this.#shown = nodeImages(await this.#images.listImages(signal));
      this.#dueMs = this.#clock.monotonicMs() + REFRESH_MS;
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn({ reason: errorMessage(error) }, 'cannot list images');
    }
    return this.#shown;
  }
}

import type { ResourceDefinition } from '@gantry/apimachinery';
import { type Clock, formatTime, must } from '@gantry/base';
import { findResource, NODE_METRICS, type NodeMetrics, POD_METRICS, type PodMetrics } from '@gantry/kinds';
import { formatQuantity, type KubeObject, type Node, NODES, type Pod, PODS, StatusError } from '@gantry/objects';
import type { AgentAddress } from '../../agents/agent-connection.ts';
import type { NodeUsage, PodUsage, Usage, UsageSource, Window } from '../../agents/usage-source.ts';
import type { Authorizer } from '../../auth/authz/authorizer.ts';
import { objectKey, type WatchCache } from '../../cache/index.ts';
import type { ListRequest, RegistryReader, Target } from '../contract/registry.ts';
import { responseOf } from '../objects/response-of.ts';
import { filterOf } from './filter.ts';

export interface UsageMetricsOptions {
  readonly cache: WatchCache;
  readonly authorizer: Authorizer;
  readonly usage: UsageSource;
  readonly clock: Clock;
}

const POD_DEFINITION = must(findResource(PODS), 'pods');
const NODE_DEFINITION = must(findResource(NODES), 'nodes');

/** Whether a request is for NodeMetrics or PodMetrics, which are not stored. */
export function isUsageMetrics({ group }: Target['definition']): boolean {
  return group === NODE_METRICS.group;
}

/**
 * Reads NodeMetrics and PodMetrics from the agents of the requested nodes and pods. As in metrics-server, lists omit objects without
 * usage, and a get responds with NotFound. The usage of a pod is accepted only from the agent of its node.
 */
export class UsageMetrics {
  readonly #options: UsageMetricsOptions;

  constructor(options: UsageMetricsOptions) {
    this.#options = options;
  }

  readonly get: RegistryReader['get'] = async (context, target) => {
    const { definition, namespace, name } = target;
    const { authorizer, cache } = this.#options;
    authorizer.authorize(context, 'get', target, undefined);
    await cache.whenReady(context.signal);
    const of = objectsOf(definition);
    const stored = cache.resource(of).get(objectKey(of, namespace, name))?.response.object;
    const [found] = stored === undefined ? [] : await this.#measured(definition, [stored], context.signal);
    if (found !== undefined) return responseOf(found);
    throw StatusError.notFound(definition, namespace === '' ? name : `${namespace}/${name}`);
  };

  readonly list: RegistryReader['list'] = async (context, definition, request) => {
    const { authorizer, cache } = this.#options;
    const target = { definition, namespace: request.namespace, name: '', subresource: '' };
    authorizer.authorize(context, 'list', target, undefined, request.fieldSelector);
    await cache.whenReady(context.signal);
    const items = await this.#measured(definition, this.#selected(definition, request), context.signal);
    return { items: items.map(responseOf), resourceVersion: 0, continueToken: '', remainingItemCount: undefined };
  };

  /** The pods or nodes that a list selects, by name. Throws like `filterOf`. */
  #selected(definition: ResourceDefinition, request: ListRequest): readonly KubeObject[] {
    const of = objectsOf(definition);
    // Rejects field selectors that pods support but their metrics do not.
    filterOf(definition, request);
    const filter = filterOf(of, request);
    return this.#options.cache
      .resource(of)
      .candidates(filter)
      .map(({ response }) => response.object)
      .filter((object) => filter.matches(object));
  }

  async #measured(
    { kind }: ResourceDefinition,
    objects: readonly KubeObject[],
    signal: AbortSignal,
  ): Promise<readonly KubeObject[]> {
    const isPods = kind === POD_METRICS.kind;
    const running = isPods ? (objects as readonly Pod[]).filter(({ status }) => status?.phase === 'Running') : objects;
    const nodeOf = (object: KubeObject) => (isPods ? (object as Pod).spec?.nodeName : object.metadata.name) ?? '';
    const agents = [...new Set(running.map(nodeOf))].flatMap((node) => this.#address(node) ?? []);
    const usages = await this.#options.usage.read(agents, signal);
    const now = formatTime(this.#options.clock.now());
    return running.flatMap((object) => {
      const usage = usages.get(nodeOf(object));
      if (usage === undefined) return [];
      return (isPods ? podMetricsOf(object, usage, now) : nodeMetricsOf(object, usage, now)) ?? [];
    });
  }

  #address(node: string): AgentAddress | undefined {
    const entry = this.#options.cache.resource(NODE_DEFINITION).get(objectKey(NODE_DEFINITION, '', node));
    const found: Partial<Node> | undefined = entry?.response.object;
    const internal = found?.status?.addresses?.find(({ type }) => type === 'InternalIP');
    return internal === undefined ? undefined : { node, host: internal.address };
  }
}

function objectsOf({ kind }: ResourceDefinition): ResourceDefinition {
  return kind === POD_METRICS.kind ? POD_DEFINITION : NODE_DEFINITION;
}

function nodeMetricsOf({ metadata }: KubeObject, { node }: NodeUsage, now: string): NodeMetrics | undefined {
  if (node === undefined) return undefined;
  return {
    kind: NODE_METRICS.kind,
    apiVersion: 'metrics.k8s.io/v1beta1',
    metadata: metadataOf(metadata, now),
    ...measured(node),
    usage: quantities(node),
  };
}

function podMetricsOf({ metadata }: KubeObject, { pods }: NodeUsage, now: string): PodMetrics | undefined {
  const usage: PodUsage | undefined = pods.get(metadata.uid ?? '');
  if (usage === undefined) return undefined;
  return {
    kind: POD_METRICS.kind,
    apiVersion: 'metrics.k8s.io/v1beta1',
    metadata: metadataOf(metadata, now),
    ...measured(usage),
    containers: [...usage.containers]
      .map(([name, of]) => ({ name, usage: quantities(of) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** The metadata of metrics, as in metrics-server: name and labels of the pod or node, and the current time. */
function metadataOf({ name, namespace, labels }: KubeObject['metadata'], now: string): KubeObject['metadata'] {
  return { name, namespace, creationTimestamp: now, labels };
}

function measured({ at, windowMs }: Window): Pick<NodeMetrics, 'timestamp' | 'window'> {
  return { timestamp: formatTime(at), window: `${windowMs / 1000}s` };
}

function quantities({ cpuNanoCores, memoryBytes }: Usage): Record<string, string> {
  return {
    cpu: formatQuantity({ nano: BigInt(cpuNanoCores), format: 'decimalSI' }),
    memory: formatQuantity({ nano: BigInt(memoryBytes) * 1_000_000_000n, format: 'binarySI' }),
  };
}

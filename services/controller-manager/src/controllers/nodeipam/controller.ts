import { ignoreNotFound } from '@gantry/client';
import type { Cache, ControllerSpec, ReconcileKey, WatchSpec } from '@gantry/controller-runtime';
import { equalJson, keyOf, type Node, NODES } from '@gantry/objects';
import type { RangeMeter } from '../../metrics/nodes.ts';
import type { NodeRanges } from './node-ranges.ts';
import { addressOf, engineOf, planRange, rangesOf, wantsRange } from './plan.ts';

interface NodeIpamOptions {
  readonly ranges: NodeRanges;
  readonly meter: RangeMeter;
}

/** Queues a Node that needs a range. If a deleted Node releases a range, also those that may wait for it. */
const watchNodes = ({ ranges, meter }: NodeIpamOptions): WatchSpec<Node> => ({
  resource: NODES,
  keys: (node, old, cache) => {
    if (node !== undefined)
      return wantsRange(node, ranges) && !equalJson(factsOf(node), factsOf(old)) ? [keyOf(node)] : [];
    if (old === undefined || rangesOf(old).length === 0) return [];
    meter.released(ranges.clusterCidr);
    return waiting(cache, ranges);
  },
});

/** Writes the range of each host's pod network to its Nodes. Keys are Nodes. */
export function createNodeIpamController(options: NodeIpamOptions): ControllerSpec {
  const { ranges, meter } = options;
  const given = new GivenRanges();
  return {
    name: 'nodeipam',
    eventSource: 'cidrAllocator',
    // One at a time: otherwise two hosts could get the same range.
    workers: 1,
    watches: [watchNodes(options)],
    begin: () => given.clear(),
    end: () => meter.clear(),
    reconcile: async (key, { cache, client, events }, signal) => {
      const node = cache.get(NODES, key);
      if (node === undefined) return {};
      const assigned = given.assigned(cache.list(NODES));
      meter.uses(ranges.clusterCidr, new Set([...assigned.values()].flatMap((cidrs) => [...cidrs])).size, ranges.size);
      for (const action of planRange({ node, ranges, assigned }).actions) {
        if (action.kind === 'event') {
          events.event(node, 'Normal', action.reason, action.message);
          continue;
        }
        const { uid } = node.metadata;
        const spec = { podCIDR: action.cidr, podCIDRs: [action.cidr] };
        // A range counts as assigned even if the write's outcome is unknown, so the next host gets another one.
        given.note({ ...node, spec: { ...node.spec, ...spec } });
        await ignoreNotFound(client.patch(NODES, key, { merge: { metadata: { uid }, spec } }, signal));
        meter.allocated(ranges.clusterCidr, action.tries);
      }
      return {};
    },
  };
}

/** The facts that determine a Node's range. */
function factsOf(node: Node | undefined): object {
  return node === undefined
    ? {}
    : { uid: node.metadata.uid, engine: engineOf(node), ranges: rangesOf(node), address: addressOf(node) };
}

function waiting(cache: Cache, ranges: NodeRanges): readonly ReconcileKey[] {
  return cache
    .list(NODES)
    .filter((node) => wantsRange(node, ranges))
    .map(keyOf);
}

/**
 * Ranges that this term has written, until the cache shows them: so two hosts that join simultaneously never get the same one. Ranges of
 * earlier leaders are in the cache when a term begins; later writes of those leaders fail.
 */
export class GivenRanges {
  /** By the uid of the Node. */
  readonly #given = new Map<string, { readonly engine: string; readonly ranges: readonly string[] }>();

  clear(): void {
    this.#given.clear();
  }

  note(node: Node): void {
    this.#given.set(node.metadata.uid ?? '', { engine: engineOf(node), ranges: rangesOf(node) });
  }

  /** The ranges of all Nodes by engine: those in the cache, and those that the cache does not show yet. */
  assigned(nodes: readonly Node[]): ReadonlyMap<string, ReadonlySet<string>> {
    const waiting = new Set(
      nodes.filter((node) => rangesOf(node).length === 0).map(({ metadata }) => metadata.uid ?? ''),
    );
    const found = new Map<string, Set<string>>();
    const add = (engine: string, ranges: readonly string[]) => {
      const all = found.get(engine) ?? new Set();
      for (const range of ranges) all.add(range);
      found.set(engine, all);
    };
    for (const node of nodes) if (rangesOf(node).length > 0) add(engineOf(node), rangesOf(node));
    for (const [uid, { engine, ranges }] of this.#given) {
      if (waiting.has(uid)) add(engine, ranges);
      else this.#given.delete(uid);
    }
    return found;
  }
}

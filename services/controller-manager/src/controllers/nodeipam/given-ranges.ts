import type { Node } from '@gantry/objects';
import { engineOf, rangesOf } from './plan.ts';

/**
 * Ranges that this term has written, until the cache shows them: two hosts that join at the same moment never get the same. An earlier
 * leader's are in the cache when a term begins, and its later writes fail.
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

  /** The ranges of all Nodes, by their engines, by what the cache shows and what it does not yet. */
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

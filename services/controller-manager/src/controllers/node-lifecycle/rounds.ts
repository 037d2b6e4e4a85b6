import type { Node } from '@gantry/objects';
import type { NodeMeter } from '../meters.ts';

/**
 * Measures looks at nodes: each, and how long it took to look at all of them once. Each node is looked at by itself, when it
 * changes or is due, so the time of a round is the sum of its looks, without the time between them.
 */
export class Rounds {
  readonly #meter: Pick<NodeMeter, 'updated' | 'updatedAll'>;
  /** The nodes that are still to be looked at in this round; undefined before its first look. */
  #left: Set<string> | undefined;
  #seconds = 0;

  constructor(meter: Pick<NodeMeter, 'updated' | 'updatedAll'>) {
    this.#meter = meter;
  }

  reset(): void {
    this.#left = undefined;
    this.#seconds = 0;
  }

  /** A node was looked at. `nodes` lists all that there are, and is called once a round. */
  looked(name: string, seconds: number, nodes: () => readonly Node[]): void {
    this.#meter.updated(seconds);
    this.#left ??= new Set(nodes().map(({ metadata }) => metadata.name ?? ''));
    this.#seconds += seconds;
    this.#left.delete(name);
    if (this.#left.size > 0) return;
    this.#meter.updatedAll(this.#seconds);
    this.reset();
  }
}

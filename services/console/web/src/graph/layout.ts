import ELK, { type ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import type { Graph } from './relations.ts';

export const NODE_WIDTH = 210;
export const NODE_HEIGHT = 52;

/** Where a node is, in pixels. */
export type Places = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

/** Lays a graph out from left to right. ELK computes in a worker of its own, which `close` ends. */
export class GraphLayout {
  readonly #elk = new ELK({ workerUrl, workerFactory: (url) => new Worker(url ?? workerUrl) });

  async place({ nodes, edges }: Graph): Promise<Places> {
    const result: ElkNode = await this.#elk.layout({
      id: 'root',
      layoutOptions: {
        'elk.algorithm': 'layered',
        'elk.direction': 'RIGHT',
        'elk.spacing.nodeNode': '18',
        'elk.layered.spacing.nodeNodeBetweenLayers': '70',
        'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
      },
      children: nodes.map(({ id }) => ({ id, width: NODE_WIDTH, height: NODE_HEIGHT })),
      edges: edges.map(({ from, to }) => ({ id: `${from} ${to}`, sources: [from], targets: [to] })),
    });
    return new Map((result.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
  }

  close(): void {
    this.#elk.terminateWorker();
  }
}

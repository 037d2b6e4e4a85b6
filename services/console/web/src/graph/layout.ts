import ELK from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import type { Graph } from './relations.ts';

export const NODE_WIDTH = 210;
export const NODE_HEIGHT = 52;

/** Where a node is, in pixels. */
export type Places = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

/** Lays a graph out from left to right. ELK computes in a worker of its own. */
export async function layOut({ nodes, edges }: Graph, signal: AbortSignal): Promise<Places> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const elk = new ELK({
    workerUrl,
    workerFactory: (url) => {
      const worker = new Worker(url ?? workerUrl);
      // ELK does not hear of a worker whose file could not be loaded.
      worker.addEventListener('error', ({ message = '' }) =>
        reject(new LayoutError(message || 'its file did not load')),
      );
      return worker;
    },
  });
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    const result = await Promise.race([
      failed,
      elk.layout({
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
      }),
    ]);
    return new Map((result.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
  } finally {
    signal.removeEventListener('abort', stop);
    elk.terminateWorker();
  }
}

class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

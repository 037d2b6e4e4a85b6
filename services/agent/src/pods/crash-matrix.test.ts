import { describeCrashMatrix } from '../testing/crash-matrix.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

describeCrashMatrix<TestNode>('hollow runtime', async () => ({
  start: (_name, calls) =>
    startNode({
      wrap: (hollow) => calls.wrap(hollow),
      wrapClient: (client) => calls.wrap(client),
      behaviour: { exitAfter: ({ name }) => (name === 'setup' ? { ms: 0, exitCode: 0 } : undefined) },
    }),
  restart: (world) => startNode({ world }),
  soon,
  look: async ({ hollow }) => (await hollow.observer.listPods(OWNER))[0],
  traces: async () => [],
  image: 'nginx:1.27',
  parallel: 1,
}));

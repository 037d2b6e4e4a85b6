import { systemClock, systemRandom } from '@gantry/base';
import { createGrpcClient, createHttpClient, discoverResources, type GrpcClient, readKubeconfig } from '@gantry/client';
import { createFenceHolder, createManager } from '@gantry/controller-runtime';
import { createLogger, createMetrics } from '@gantry/service';
import { createMeters } from '../metrics/meters.ts';
import { createControllers } from '../registry.ts';
import { createReadPath } from '../run-controller-manager.ts';
import { createNodeRanges } from './node-ranges.ts';

/**
 * All control loops against a development API server, as its administrator and without an election:
 * `node --conditions=gantry-source services/controller-manager/src/testing/dev-controllers.ts <kubeconfig file> [gRPC port]`. With the
 * port they speak gRPC, as in a cluster; otherwise REST.
 */
const target = readKubeconfig(process.argv[2] ?? '');
const logger = createLogger({ service: 'controller-manager', level: 'info' });
const base = { clock: systemClock, random: systemRandom };
/** For a kubeconfig without a certificate, which no gRPC server accepts. */
const NONE = Buffer.of();
const component = 'kube-controller-manager';
const rest = createHttpClient({ ...target, fieldManager: component });
const grpcPort = process.argv[3];
const client = grpcPort === undefined ? rest : openGrpc(grpcPort);
const noAuthority = { parse: async () => 'there is no authority', sign: async () => '' };
const controllers = createControllers({
  // A development server gets no certificate requests.
  authorities: { cluster: noAuthority, 'node-serving': noAuthority },
  signers: {
    firstServiceAddress: '10.96.0.1',
    podCidr: '10.128.0.0/20',
    reservedNames: [],
    servingApproval: 'manual',
    joining: 'refused',
  },
  readCa: () => target.ca?.toString() ?? '',
  nodeGraceMs: 4000,
  podCidr: '10.128.0.0/20',
  nodeRanges: createNodeRanges(),
  // There are no agents that could create folders.
  localPath: { storageClass: 'none' },
  readPath: createReadPath(rest),
  meters: createMeters(createMetrics()),
});
/** The number of reconciles per controller. */
const reconciles = new Map<string, number>();
const manager = createManager({
  ...base,
  client,
  aggregated: { client: rest, discover: (of, signal) => discoverResources(rest, of, signal) },
  fences: createFenceHolder(),
  component,
  identity: 'dev',
  controllers,
  log: logger,
  onReconcile: ({ controller }) => void reconciles.set(controller, (reconciles.get(controller) ?? 0) + 1),
});
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
const term = { electionKey: '/gantry/elections/kube-controller-manager', epoch: 1, incarnation: 'dev' };
await Promise.all([manager.run(stop.signal), manager.leader.lead(term, stop.signal)]);
logger.info({ reconciles: Object.fromEntries(reconciles) }, 'controllers ended');
client[Symbol.dispose]();
rest[Symbol.dispose]();

function openGrpc(port: string): GrpcClient {
  const [ca = NONE, cert = NONE, key = NONE] = [target.ca, target.cert, target.key];
  return createGrpcClient({
    addresses: [`apiserver:${port}`],
    tls: { current: () => ({ ca, cert, key }), subscribe: () => () => undefined },
    fieldManager: component,
    lookup: () => Promise.resolve(['127.0.0.1']),
  });
}

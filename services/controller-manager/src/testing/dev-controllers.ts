import { systemClock, systemRandom } from '@gantry/base';
import { createHttpClient, discoverResources, readKubeconfig } from '@gantry/client';
import { createFenceHolder, createManager } from '@gantry/controller-runtime';
import { createMetrics, createLogger } from '@gantry/service';
import { createReadPath } from '../read-path.ts';
import { createMeters } from '../meters.ts';
import { createNodeRanges } from './node-ranges.ts';
import { createControllers } from '../registry.ts';

/**
 * All control loops against a development API server, as its administrator and without an election:
 * `node --conditions=gantry-source services/controller-manager/src/testing/dev-controllers.ts <kubeconfig file>`.
 */
const target = readKubeconfig(process.argv[2] ?? '');
const logger = createLogger({ service: 'controller-manager', level: 'info' });
const base = { clock: systemClock, random: systemRandom };
const client = createHttpClient({ ...target, fieldManager: 'kube-controller-manager' });
const noAuthority = { parse: async () => 'there is no authority', sign: async () => '' };
const controllers = createControllers({
  // A development server gets no certificate requests.
  authorities: { cluster: noAuthority, 'node-serving': noAuthority },
  signers: { firstServiceAddress: '10.96.0.1', reservedNames: [], servingApproval: 'manual', joining: 'refused' },
  readCa: () => target.ca?.toString() ?? '',
  nodeGraceMs: 4000,
  podCidr: '10.128.0.0/20',
  nodeRanges: createNodeRanges(),
  // There are no agents that could make folders.
  localPath: { storageClass: 'none' },
  readPath: createReadPath(client),
  meters: createMeters(createMetrics()),
});
const manager = createManager({
  ...base,
  client,
  aggregated: { client, discover: (of, signal) => discoverResources(client, of, signal) },
  fences: createFenceHolder(),
  component: 'kube-controller-manager',
  identity: 'dev',
  controllers,
  log: logger,
});
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
const term = { electionKey: '/gantry/elections/kube-controller-manager', epoch: 1, incarnation: 'dev' };
await Promise.all([manager.run(stop.signal), manager.lead(term, stop.signal)]);
client[Symbol.dispose]();

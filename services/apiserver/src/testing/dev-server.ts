import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd } from '@gantry/etcd';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { createLogger } from '@gantry/service';
import { createPeerRegistry, ownAddress } from '../peer-registry.ts';
import { ensureIncarnation } from '../incarnation.ts';
import { createEtcdObjectStore } from '../storage/index.ts';
import { TEST_SEALING } from '../storage/testing/test-sealing.ts';
import { runStandInControllers } from './stand-in-controllers.ts';
import { startApiServer } from './start-api-server.ts';

/**
 * An API server with the memory store, for tests with kubectl and goldens:
 * `node --conditions=gantry-source services/apiserver/src/testing/dev-server.ts [port [kubeconfig file [etcd members]]]`.
 * SIGUSR2 compacts the history of the memory store. If etcd endpoints without TLS are given, it uses that etcd as in production.
 */
const [port, file, members] = process.argv.slice(2);
const logger = createLogger({ service: 'apiserver', level: 'info' });
const shared = { clock: systemClock, random: systemRandom, newUid: systemUid, sealing: TEST_SEALING };
const memory = members === undefined ? new MemoryEtcd() : undefined;
const etcd = memory ?? connectEtcd({ endpoints: (members ?? '').split(','), ...shared });
const store = createEtcdObjectStore({ etcd, ...shared });
await ensureIncarnation(etcd.kv, systemUid, new AbortController().signal);
const peers = createPeerRegistry({
  etcd,
  clock: systemClock,
  process: systemUid(),
  address: { ip: ownAddress('0.0.0.0/0') ?? '192.0.2.1', port: Number(port ?? 0) || 6443 },
  onError: (error) => logger.warn({ err: error }, 'the list of apiservers'),
});
const server = await startApiServer({ restPort: Number(port ?? 0), logger, store, peers });
process.on('SIGUSR2', () => memory?.compactHistory(memory.revision));
const kubeconfig = file ?? join(await mkdtemp(join(tmpdir(), 'gantry-dev-')), 'kubeconfig');
await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
logger.info({ url: server.url, grpcPort: server.grpcPort, kubeconfig }, `export KUBECONFIG=${kubeconfig}`);
const stopping = new AbortController();
runStandInControllers(server.registry, server.pki.ca, stopping.signal).catch((error: unknown) => {
  if (!stopping.signal.aborted) logger.error({ err: error }, 'the stand-in controllers ended');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopping.abort();
    server.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

import { parseArgs } from 'node:util';
import { systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd } from '@gantry/etcd';
import { createLogger } from '@gantry/service';
import { openTlsFolder } from '@gantry/tls';
import type { ApiServerConfig } from './config.ts';
import {
  addSealingKey,
  createEtcdObjectStore,
  createSealing,
  forgetOldSealingKeys,
  openSealingKeys,
  reseal,
} from './storage/index.ts';

const CLOSE_MS = 5000;

/**
 * The command `reseal`: writes all objects again whose sealing is not current. `--rotate` first adds a key, which apiservers use from their
 * next write on. `--forget` removes all older keys at the end, after a second run has resealed the remaining objects.
 */
export async function runReseal(config: ApiServerConfig, args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { rotate: { type: 'boolean', default: false }, forget: { type: 'boolean', default: false } },
  });
  const [clock, { signal }] = [systemClock, new AbortController()];
  const logger = createLogger({ service: 'reseal', level: config.logLevel });
  using tls = await openTlsFolder(config.etcdTlsDir, { clock, logger }, signal);
  await using etcd = connectEtcd({ endpoints: config.etcd, tls, clock, random: systemRandom });
  if (values.rotate) logger.info({ key: await addSealingKey(config.sealingDir) }, 'a key was added');
  const sealing = createSealing(openSealingKeys(config.sealingDir), config.sealedResources);
  const store = createEtcdObjectStore({ etcd, sealing, clock, random: systemRandom, newUid: systemUid });
  try {
    logger.info({ ...(await reseal({ etcd, store, sealing }, signal)) }, 'objects are stored as they should be');
    if (!values.forget) return;
    // A write during the addition of the key may have used an older key.
    logger.info({ ...(await reseal({ etcd, store, sealing }, signal)) }, 'resealed once more');
    logger.info({ keys: await forgetOldSealingKeys(config.sealingDir) }, 'older keys were removed');
  } finally {
    await store.close(AbortSignal.timeout(CLOSE_MS));
  }
}

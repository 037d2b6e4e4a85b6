import { Activities, sleep, systemClock, systemRandom } from '@gantry/base';
import { fixedTls } from '@gantry/tls';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.ts';
import { createMetrics } from '../metrics.ts';
import { type Readiness, serviceMembers } from './start-service.ts';

const nothing = Buffer.alloc(0);
const parts = {
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  metrics: createMetrics(),
  activities: new Activities(systemClock),
  tls: fixedTls({ ca: nothing, cert: nothing, key: nothing }),
};
const idle = { name: 'own', run: async () => undefined };
/** Of a loopback network of 2^24 addresses: another process's port is not met. */
const host = `127.${[0, 0, 0].map(() => 1 + Math.floor(systemRandom() * 250)).join('.')}`;

function members(readiness: Readiness) {
  return serviceMembers(parts, {
    ...readiness,
    endpoints: [{ host, port: 10_255 }],
    renewedDirs: ['/tls', '/agents'],
    requestCertificate: async () => '',
    members: [idle],
  });
}

/** What `/readyz` answers. */
async function readyz(readiness: Readiness): Promise<string> {
  const stop = new AbortController();
  const running = members(readiness)
    .find(({ name }) => name === 'http-endpoint')
    ?.run(stop.signal);
  try {
    for (;;) {
      try {
        return await (await fetch(`http://${host}:10255/readyz`)).text();
      } catch {
        // Not listening yet.
        await sleep(systemClock, 10, stop.signal);
      }
    }
  } finally {
    stop.abort();
    await running;
  }
}

describe('the members of a service', () => {
  const caches = { missing: () => [], run: async () => undefined };

  it('are those that all have, then its caches and its own: what needs others is stopped before them', () => {
    const names = members({ caches }).map(({ name }) => name);
    const common = ['event-loop-watch', 'http-endpoint', 'certificate-renewal', 'certificate-renewal'];
    expect(names).toEqual([...common, 'caches', 'own']);
    expect(members({ health: { live: async () => [], ready: async () => [] } }).map(({ name }) => name)).toEqual([
      ...common,
      'own',
    ]);
  });

  it('are ready once all caches were listed and every further check holds', async () => {
    expect(await readyz({ caches: { ...caches, missing: () => ['pods'] } })).toBe('caches: not listed yet: pods');
    const serving = {
      name: 'serving',
      check: () => {
        throw new RangeError('not yet');
      },
    };
    expect(await readyz({ caches, ready: [serving] })).toBe('serving: not yet');
    expect(await readyz({ caches })).toBe('ok');
    expect(await readyz({ health: { live: async () => [], ready: async () => ['store: gone'] } })).toBe('store: gone');
  });
});

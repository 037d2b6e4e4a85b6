import { Activities, sleep, systemClock, systemRandom } from '@gantry/base';
import { freePort } from '@gantry/base/testing';
import { fixedTls } from '@gantry/tls';
import { describe, expect, it } from 'vitest';
import { silentLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
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
/** A random address of the loopback network, so that ports do not collide with other processes. */
const host = `127.${[0, 0, 0].map(() => 1 + Math.floor(systemRandom() * 250)).join('.')}`;

function members(readiness: Readiness, port = 10_255) {
  return serviceMembers(parts, {
    ...readiness,
    endpoints: [{ host, port }],
    renewedDirs: ['/tls', '/agents'],
    requestCertificate: async () => '',
    members: [idle],
  });
}

/** The response of `/readyz`. */
async function readyz(readiness: Readiness): Promise<string> {
  const stop = new AbortController();
  const port = await freePort(host);
  const running = members(readiness, port)
    .find(({ name }) => name === 'http-endpoint')
    ?.run(stop.signal);
  const ended = Promise.resolve(running).then(() => undefined);
  try {
    for (;;) {
      const fetched = fetch(`http://${host}:${port}/readyz`).catch(() => 'not listening' as const);
      const response = await Promise.race([fetched, ended]);
      if (response === undefined) throw new Error('the endpoint ended');
      if (response !== 'not listening') return await response.text();
      await sleep(systemClock, 10, stop.signal);
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

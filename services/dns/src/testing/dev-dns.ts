import { systemClock, systemRandom } from '@gantry/base';
import { FakeObjectClient } from '@gantry/client/testing';
import { Informers } from '@gantry/controller-runtime';
import { NAMESPACES, SERVICES } from '@gantry/objects';
import { createLogger } from '@gantry/service';
import { createServerTotals } from '../server/server-totals.ts';
import { Forwarder } from '../forward/forwarder.ts';
import { Responder } from '../respond/responder.ts';
import { QuestionQueue } from '../server/question-queue.ts';
import { udpServer } from '../server/udp-server.ts';
import { CachedState, ZONE_RESOURCES } from '../zone/cached-state.ts';
import { ReverseZone } from '../zone/reverse-zone.ts';

/**
 * A DNS server over UDP without a cluster, for `npm run bench -- dns`. It reads `NAME ADDRESS` lines of Services in the namespace
 * `default` from its input, and writes its port. Run it with `node --conditions=gantry-source services/dns/src/testing/dev-dns.ts`.
 */
const base = { clock: systemClock, random: systemRandom };
const log = createLogger({ service: 'dns', level: 'warn' });
const client = new FakeObjectClient(systemClock);
await client.put(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
for await (const chunk of process.stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
  for (const line of String(chunk).split('\n')) {
    const [name = '', clusterIP = ''] = line.split(' ');
    if (name === '') continue;
    const metadata = { namespace: 'default', name };
    await client.put(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP } });
  }
}
const informers = new Informers({ ...base, client, resources: ZONE_RESOURCES, log });
const zone = new CachedState(informers.cache);
informers.subscribe((event) => zone.take(event));
const stop = new AbortController();
void informers.run(stop.signal);
await informers.when(() => informers.synced(), stop.signal);
const outside = new Forwarder({ ...base, upstreams: () => [], logger: log });
const reverse = new ReverseZone(['10.96.0.0/12']);
const responder = new Responder({ zone, reverse, outside, isSynced: () => true, random: systemRandom });
const onListening = (port: number) => process.stdout.write(`${port}\n`);
const totals = createServerTotals(systemClock);
const listen = { responder, host: '127.0.0.1', port: 0, totals, queue: new QuestionQueue(), clock: systemClock };
await udpServer({ ...listen, onListening }).run(stop.signal);

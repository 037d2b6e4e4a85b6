import type { Metrics } from '@gantry/service';
import type { ForwarderTotals } from './forward/forwarder.ts';
import type { ResponderTotals } from './respond/responder.ts';
import type { ServerTotals } from './server/server-totals.ts';

/** Names of response codes. Other codes are shown as numbers. */
const CODES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

/** Shows totals that are counted elsewhere, so that a packet touches no metric. */
export function showTotals(
  metrics: Metrics,
  { server, responder, forwarder }: { server: ServerTotals; responder: ResponderTotals; forwarder: ForwarderTotals },
): void {
  metrics.counter('dns_requests_total', 'Received packets', ['transport'], (counter) => {
    counter.inc({ transport: 'udp' }, server.udp);
    counter.inc({ transport: 'tcp' }, server.tcp);
  });
  metrics.counter('dns_responses_total', 'Sent responses', ['code'], (counter) => {
    for (const [code, count] of server.codes.entries()) counter.inc({ code: CODES[code] ?? code }, count ?? 0);
  });
  metrics.counter(
    'dns_requests_dropped_total',
    'Packets over UDP that were dropped because their address, or all together, had too many waiting',
    [],
    (counter) => {
      counter.inc({}, server.dropped);
    },
  );
  metrics.counter('dns_responses_unsent_total', 'Responses that could not be sent', [], (counter) => {
    counter.inc({}, server.unsent);
  });
  metrics.counter('dns_answers_total', 'Packets by the source of their answer', ['source'], (counter) => {
    for (const [source, count] of Object.entries(responder.source)) counter.inc({ source }, count);
  });
  metrics.counter(
    'dns_forward_total',
    "Questions for the host's resolvers: `kept` (answered from the cache), `asked`, `failed`",
    ['result'],
    (counter) => {
      counter.inc({ result: 'kept' }, forwarder.hits);
      counter.inc({ result: 'asked' }, forwarder.asked);
      counter.inc({ result: 'failed' }, forwarder.failed);
    },
  );
}

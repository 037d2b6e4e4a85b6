/**
 * The DNS server of pods: names of Services and pods, and everything else by the resolvers of the host.
 *
 * - `zone/`: the records of names, from Services, EndpointSlices and pods. Pure
 * - `wire/`: packets and messages; `respond/`: a packet's response
 * - `forward/`: the host's resolvers, and what they answered
 * - `server/`: UDP and TCP, with their limits
 * - `publish/`: the EndpointSlice of all DNS servers, which watch each other
 * - `run-dns.ts`: puts them together; `dns-metrics.ts`: what is reported
 *
 * It follows the API from a cache, so it answers while no API server does.
 */
import { runMain } from '@gantry/service';
import { readDnsConfig } from './config.ts';
import { runDns } from './run-dns.ts';

await runMain(() => runDns(readDnsConfig()));

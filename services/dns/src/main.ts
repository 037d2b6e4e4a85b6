/**
 * The DNS server of pods. It answers names of Services and pods, and forwards all other names to the host's resolvers.
 *
 * - `zone/`: the records of names, from Services, EndpointSlices and pods. Pure
 * - `wire/`: packets and messages; `respond/`: the response to a packet
 * - `forward/`: the host's resolvers and their answers
 * - `server/`: UDP and TCP, with their limits, and the queue in which addresses take turns
 * - `publish/`: EndpointSlice and Endpoints of all DNS servers, which watch each other
 * - `run-dns.ts`: connects the parts; `meters.ts`: the metrics
 *
 * It reads the API through a cache, so it still answers when no API server does.
 */
import { runMain } from '@gantry/service';
import { readDnsConfig } from './config.ts';
import { runDns } from './run-dns.ts';

await runMain(() => runDns(readDnsConfig()));

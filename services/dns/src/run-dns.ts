import { hostname } from 'node:os';
import { createCertificateRequester, createGrpcClient, toGrpcFailure } from '@gantry/client';
import { ChangeLoop, Informers, reportService, runningProcess } from '@gantry/controller-runtime';
import { REPORT_PORT } from '@gantry/objects';
import { type GroupOutcome, startService } from '@gantry/service';
import type { DnsConfig } from './config.ts';
import { showTotals } from './meters.ts';
import { Forwarder } from './forward/forwarder.ts';
import { HostResolvers } from './forward/host-resolvers.ts';
import { addressWithin, probeServer } from './publish/probe.ts';
import { PUBLISHED_RESOURCE, PublishedServers } from './publish/published-servers.ts';
import { Responder } from './respond/responder.ts';
import { QuestionQueue } from './server/question-queue.ts';
import { createServerTotals, questionLoop } from './server/server-totals.ts';
import { tcpServer } from './server/tcp-server.ts';
import { udpServer } from './server/udp-server.ts';
import { CachedState, takeChanges, ZONE_RESOURCES } from './zone/cached-state.ts';
import { DNS_SERVICE } from './zone/cluster-zone.ts';
import { ReverseZone } from './zone/reverse-zone.ts';
import { clusterAddress } from './zone/service-records.ts';

const COMPONENT = 'kube-dns';
const HOST = '0.0.0.0';
const DNS_PORT = 53;
/** The port of CoreDNS' metrics. */
const METRICS_PORT = 9153;
const CONTAINER_RESOLV_CONF = '/etc/resolv.conf';

/** Runs the process: the zone in memory, and its servers. */
export async function runDns(config: DnsConfig): Promise<GroupOutcome> {
  using service = await startService({ name: 'dns', ...config });
  const { clock, random, logger, metrics } = service.parts;
  using client = createGrpcClient({ ...service.parts, addresses: config.apiservers, fieldManager: COMPONENT });
  const informers = new Informers({
    ...service.parts,
    client,
    resources: [...ZONE_RESOURCES, PUBLISHED_RESOURCE],
    log: logger,
  });
  const zone = new CachedState(informers.cache);
  const records = new ChangeLoop({ name: 'records', shown: ZONE_RESOURCES, clock });
  informers.subscribe((event) => takeChanges(event, zone, records));
  const isSynced = () => informers.synced();
  const published = new PublishedServers({
    client,
    cache: informers.cache,
    own: addressWithin(config.podCidr),
    isReady: isSynced,
    probe: (address, signal) => probeServer(address, random, signal),
    clock,
    logger,
  });
  const resolvers = new HostResolvers({
    hostFile: config.hostResolvConf,
    containerFile: CONTAINER_RESOLV_CONF,
    isOwn: (address) => {
      if (published.addresses().includes(address)) return true;
      const ours = zone.service(DNS_SERVICE.namespace, DNS_SERVICE.name);
      return ours !== undefined && clusterAddress(ours) === address;
    },
    clock,
    logger,
  });
  await resolvers.read();
  const upstreams = () => resolvers.servers().map((address) => ({ address, port: DNS_PORT }));
  const forwarder = new Forwarder({ ...service.parts, upstreams });
  const reverse = new ReverseZone(config.reverseCidrs);
  const responder = new Responder({ zone, reverse, outside: forwarder, isSynced, random });
  const server = createServerTotals(clock);
  showTotals(metrics, { server, responder: responder.totals, forwarder: forwarder.totals });
  const listen = { responder, host: HOST, port: DNS_PORT, totals: server, queue: new QuestionQueue(), clock };
  const { queue } = listen;
  return await service.run({
    caches: informers,
    endpoints: [{}, { host: HOST, port: METRICS_PORT }],
    grpc: {
      address: `${HOST}:${REPORT_PORT}`,
      services: [
        reportService({
          process: runningProcess(COMPONENT, hostname(), clock),
          loops: () => [questionLoop(server, queue), records.state(), forwarder.state()],
          cache: () => ({ revision: informers.cache.revision() }),
        }),
      ],
      toGrpcError: toGrpcFailure,
    },
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [resolvers.member(), udpServer(listen), tcpServer(listen), published.member()],
  });
}

import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  type Clock,
  errorMessage,
  formatTime,
  must,
  systemClock,
  systemUid,
  untilAborted,
  untilDone,
} from '@gantry/base';
import { type CertificateRequestClient, createCertificateRequester } from '@gantry/client';
import { decodeProtobuf } from '@gantry/apimachinery';
import { type AccessRule, connectEtcd, type Etcd } from '@gantry/etcd';
import {
  ConfigError,
  type GroupMember,
  type GroupOutcome,
  leaseMeter,
  type Logger,
  type Metrics,
  startService,
} from '@gantry/service';
import { AGENT_PORT } from './agents/agent-connection.ts';
import { createAgentStreams } from './agents/agent-streams.ts';
import { createAgentUsage } from './agents/agent-usage.ts';
import { createAgentLogs } from './endpoints/logs/agent-logs.ts';
import { type AuditPolicy, type AuditTrail, createAuditTrail, createLogFile, parseAuditPolicy } from './audit/index.ts';
import { readSigningKeys, SigningKeyFolder } from './auth/authn/signing-keys.ts';
import { auditCounters, reportCache, snapshotMeter, storageMeter, storeRetryCounter } from './meters.ts';
import type { ApiServerConfig } from './config.ts';
import type { EtcdReachOptions } from './etcd-reach.ts';
import { AddressedTls } from './loops/addressed-tls.ts';
import type { IntrospectionSettings } from './introspection/introspection.ts';
import { serviceInDns } from './introspection/process-reports.ts';
import { createPeerRegistry, isOwnAddress, ownAddress, type PeerRegistry } from './peer-registry.ts';
import type { ComponentHealth } from './registry/index.ts';
import { ensureIncarnation } from './incarnation.ts';
import { metricsKinds, resources } from '@gantry/kinds';
import { createApiServer } from './server.ts';
import { runStorageMaintenance, STORAGE_OWNER } from './loops/storage-maintenance/storage-maintenance.ts';
import type { SnapshotSchedule } from './loops/storage-maintenance/scheduled-snapshots.ts';
import { recordWarning, storageEvent } from './loops/warning-events.ts';
import { StorageReporter } from './loops/storage-maintenance/storage-warnings.ts';
import {
  createEtcdObjectStore,
  createSealing,
  INCARNATION_KEY,
  KEY_FILE,
  openSealingKeys,
  sealingKeyIds,
  type Sealing,
} from './storage/index.ts';
import { type CertificateSigningRequest, gatewayOf, type KubeObject, REPORT_PORT, StatusError } from '@gantry/objects';
import type { LoopbackClient } from './loopback-client.ts';

const REST_PORT = 6443;
const GRPC_PORT = 6444;
const RETRY_MS = 500;
/** Timeout of a health check of an etcd member. */
const HEALTH_MS = 2000;
/** Time limit of recording an Event about etcd. */

/** The rights of other users in etcd. */
const ACCESS: readonly AccessRule[] = [
  // The elected services write their own election, and read the incarnation.
  ...['kube-scheduler', 'kube-controller-manager'].map((component) => ({
    user: `system:${component}`,
    permissions: [
      { access: 'readwrite', key: `/gantry/elections/${component}` },
      { access: 'read', key: INCARNATION_KEY },
    ] as const,
  })),
  // `etcdctl` in a member's container, which has the member's certificate and its files anyway. The range contains every key.
  { user: 'etcd', permissions: [{ access: 'read', key: '\0', rangeEnd: '\0' }] },
];

/** Runs the process: waits for its files and for etcd, then serves until it is stopped. */
export async function runApiServer(config: ApiServerConfig): Promise<GroupOutcome> {
  using service = await startService({ name: 'apiserver', ...config });
  const { clock, random, logger, metrics } = service.parts;
  const starting = new AbortController();
  using frontProxy = await service.openTls(config.frontProxyDir);
  using etcdTls = await service.openTls(config.etcdTlsDir);
  using agentTls = await service.openTls(config.agentTlsDir);
  using usage = createAgentUsage(agentTls, clock);
  using signingKeys = await openKeys(config.serviceAccountDir, logger, starting.signal);
  const sealing = await openSealing(config, logger, starting.signal);
  await using etcd = connectEtcd({ endpoints: config.etcd, tls: etcdTls, clock, random });
  await prepareEtcd(etcd, logger, starting.signal);
  const retries = storeRetryCounter(metrics);
  const processId = systemUid();
  const store = createEtcdObjectStore({
    ...{ etcd, sealing, process: processId },
    ...{ clock, random },
    newUid: systemUid,
    onRetry: (why) => {
      retries.inc();
      logger.warn({ reason: why }, 'sending a group of writes again');
    },
  });
  const { audit, auditLog } = await openAudit(config, service.parts);
  const address = ownAddress(config.podCidr);
  using tls = address === undefined ? undefined : new AddressedTls(service.parts.tls, address);
  const { members, health, client, cache } = createApiServer({
    ...service.parts,
    ...(tls === undefined ? {} : { tls }),
    store,
    resources: [...resources, ...config.optionalResources, ...metricsKinds],
    agentTls,
    frontProxy,
    signingKeys,
    bootstrapDir: config.bootstrapDir,
    settings: {
      serviceCidr: config.serviceCidr,
      defaultTolerationSeconds: config.defaultTolerationSeconds,
      podSecurityExemptions: config.podSecurityExemptions,
    },
    listen: { host: '0.0.0.0', restPort: REST_PORT, grpcPort: GRPC_PORT },
    storeHealth: (signal) => etcdHealth(etcd, signal),
    etcd: reachOf(etcd, store),
    usage,
    agentStreams: createAgentStreams(agentTls, clock),
    agentLogs: createAgentLogs(agentTls, clock),
    ...peersOf(etcd, processId, address, logger),
    introspection: introspectionOf(config, etcd, processId, address),
    signals: process,
    newUid: systemUid,
    audit,
  });
  reportCache(metrics, cache);
  const quotaBytes = config.etcdQuotaBytes;
  const measure = storageMeter(metrics, quotaBytes);
  const reporter = new StorageReporter({ client, quotaBytes, clock, logger });
  const maintenance: GroupMember = {
    name: 'etcd-maintenance',
    run: (signal) =>
      runStorageMaintenance(
        {
          etcd,
          ...{ clock, random, log: logger },
          process: processId,
          leaseTtlMs: config.leaseTtlMs,
          leaseMaxTtlMs: config.leaseMaxTtlMs,
          onLease: leaseMeter(metrics, STORAGE_OWNER).onLease,
          historyMs: config.historyMinutes * 60_000,
          quotaBytes,
          snapshots: snapshotSchedule(config, { client, clock, logger, metrics }),
          onAction: (action) => logger.info({ action: action.kind }, 'etcd maintenance'),
          onError: (reason) => logger.warn({ reason }, 'etcd maintenance failed, retrying'),
          onStatus: async (members, ended) => {
            measure(members);
            await reporter.report(members, ended);
          },
        },
        signal,
      ),
  };
  const requestCertificate = createCertificateRequester(certificateRequestClient(client), clock, 'apiserver');
  const whenReady = (signal: AbortSignal) => cache.whenReady(signal);
  const addressed = tls?.member({ requestCertificate, whenReady, clock, logger });
  return await service.run({
    health,
    requestCertificate,
    renewedDirs: [config.tlsDir, config.agentTlsDir],
    members: [auditLog, storeMember(store), maintenance, ...members, ...(addressed === undefined ? [] : [addressed])],
  });
}

/** Scheduled snapshots as the settings say; undefined if there are none. */
function snapshotSchedule(
  { clusterId, sealingDir, snapshots: { everyMinutes, keep, folder } }: ApiServerConfig,
  parts: { client: LoopbackClient; clock: Clock; logger: Logger; metrics: Metrics },
): SnapshotSchedule | undefined {
  if (everyMinutes === 0) return undefined;
  const { clock, logger, metrics } = parts;
  return {
    ...{ folder, keep, clusterId },
    everyMs: everyMinutes * 60_000,
    sealingKeys: () => sealingKeyIds(sealingDir),
    onSnapshot: snapshotMeter(metrics),
    onFailure: async (reason, signal) => {
      const warning = { member: 'etcd', reason: 'SnapshotFailed', message: `has no new snapshot: ${reason}` } as const;
      await recordWarning(parts, storageEvent(warning, formatTime(clock.now())), signal);
    },
    log: logger,
  };
}

/** A group member that closes the store after the later members have ended. */
function storeMember(store: ReturnType<typeof createEtcdObjectStore>): GroupMember {
  return { name: 'store', run: untilAborted, close: () => store.close(AbortSignal.timeout(2000)) };
}

/** The audit log: the trail that creates events, and the group member that writes them. */
async function openAudit(
  { audit: { policyFile, folder, maxMiB, maxBackups } }: ApiServerConfig,
  shell: { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics },
): Promise<{ readonly audit: AuditTrail; readonly auditLog: GroupMember }> {
  const file = createLogFile({
    ...shell,
    ...auditCounters(shell.metrics),
    folder,
    server: hostname(),
    maxBytes: maxMiB * 2 ** 20,
    maxBackups,
  });
  const audit = createAuditTrail({
    policy: await readAuditPolicy(policyFile),
    clock: shell.clock,
    newUid: systemUid,
    append: (line) => file.append(line),
    decodeProtobuf: (bytes) => decodeProtobuf(bytes),
  });
  return { audit, auditLog: file.member };
}

/** Reads the audit policy. Throws ConfigError for an unreadable or invalid file. */
async function readAuditPolicy(file: string): Promise<AuditPolicy> {
  try {
    return parseAuditPolicy(await readFile(file, 'utf8'));
  } catch (error) {
    throw new ConfigError('GANTRY_AUDIT_POLICY_FILE', `${file}: ${errorMessage(error)}`);
  }
}

/** The health of each etcd member, as it reports it itself. */
function etcdHealth(etcd: Etcd, signal: AbortSignal): Promise<readonly ComponentHealth[]> {
  const ask = async (member: number): Promise<ComponentHealth> => {
    const name = `etcd-${member}`;
    try {
      const { alarms } = await etcd.maintenance.status({ signal, timeoutMs: HEALTH_MS, member });
      if (alarms.length === 0) return { name, state: 'healthy', message: 'ok' };
      return { name, state: 'unhealthy', message: `alarms: ${alarms.join(', ')}` };
    } catch (error) {
      return { name, state: 'unhealthy', message: errorMessage(error) };
    }
  };
  return Promise.all(Array.from({ length: etcd.memberCount }, (_, member) => ask(member)));
}

/** Each member is asked what it answers if it has a quorum. */
function reachOf({ kv, memberCount }: Etcd, store: ReturnType<typeof createEtcdObjectStore>): EtcdReachOptions {
  const request = { key: INCARNATION_KEY, fields: 'count' } as const;
  return {
    members: Array.from(
      { length: memberCount },
      (_, member) => (signal) => kv.range(request, { signal, timeoutMs: HEALTH_MS, member }),
    ),
    giveUpWrites: (waitedMs) => store.giveUpWrites(waitedMs),
    giveUpReads: () => store.giveUpReads(),
  };
}

/** What this API server needs to show what the control plane does. */
function introspectionOf(
  { etcdQuotaBytes, historyMinutes, processes, podCidr }: ApiServerConfig,
  etcd: Etcd,
  identity: string,
  address = '127.0.0.1',
): IntrospectionSettings {
  const { kv, maintenance, memberCount } = etcd;
  const peers = serviceInDns('apiserver', GRPC_PORT);
  return {
    identity,
    address: `${address}:${GRPC_PORT}`,
    kv,
    members: Array.from(
      { length: memberCount },
      (_, member) => (signal) => maintenance.status({ signal, timeoutMs: HEALTH_MS, member }),
    ),
    quotaBytes: etcdQuotaBytes,
    historyMinutes,
    services: processes,
    dns: serviceInDns('dns', REPORT_PORT),
    proxyOf: (host) => ({ name: 'proxy', host, port: REPORT_PORT, addresses: async () => [proxyAddress(host)] }),
    podCidr,
    agentPort: AGENT_PORT,
    peers: { ...peers, addresses: async () => (await peers.addresses()).filter((one) => !isOwnAddress(one)) },
  };
}

function proxyAddress(podCidr: string): string {
  const address = gatewayOf(podCidr);
  if (address === undefined) throw StatusError.unavailable(`podCIDR: ${podCidr} is not a range of pods`);
  return address;
}

/** The registry of apiservers, including this one. Undefined if this process has no address. */
function peersOf(
  etcd: Etcd,
  process: string,
  ip: string | undefined,
  logger: Logger,
): { readonly peers?: PeerRegistry } {
  if (ip === undefined) return {};
  const onError = (error: unknown): void => logger.warn({ reason: errorMessage(error) }, 'the list of apiservers');
  const address = { ip, port: REST_PORT };
  return { peers: createPeerRegistry({ etcd, clock: systemClock, process, address, onError }) };
}

async function openKeys(folder: string, logger: Logger, signal: AbortSignal): Promise<SigningKeyFolder> {
  const what = `service account keys (${join(folder, 'sa.key')})`;
  const keys = await retried(() => readSigningKeys(folder), what, logger, signal);
  return new SigningKeyFolder(folder, keys, { clock: systemClock, logger });
}

async function openSealing(
  { sealingDir, sealedResources }: ApiServerConfig,
  logger: Logger,
  signal: AbortSignal,
): Promise<Sealing> {
  const open = () => Promise.resolve().then(() => openSealingKeys(sealingDir));
  const keys = await retried(open, `sealing keys (${join(sealingDir, KEY_FILE)})`, logger, signal);
  return createSealing(keys, sealedResources);
}

/** Creates the users and roles in etcd, and the incarnation. The first apiserver to start does it. */
async function prepareEtcd(etcd: Etcd, logger: Logger, signal: AbortSignal): Promise<void> {
  await retried(() => etcd.access.ensure(ACCESS, { signal }), 'etcd users', logger, signal);
  await retried(() => ensureIncarnation(etcd.kv, systemUid, signal), 'the incarnation', logger, signal);
}

/** Retries until the work succeeds. Logs each reason once. */
function retried<T>(work: () => Promise<T>, what: string, logger: Logger, signal: AbortSignal): Promise<T> {
  const onReason = (reason: string) => logger.warn({ what, reason }, 'waiting');
  return untilDone({ clock: systemClock, everyMs: RETRY_MS, onReason }, work, signal);
}

/** A client for the apiserver's own certificate requests. */
export function certificateRequestClient(client: LoopbackClient): CertificateRequestClient {
  const typed = (object: KubeObject) => object as CertificateSigningRequest;
  return {
    create: async (resource, object, signal) =>
      typed(must(await client.create(resource, object, signal), 'a created object with a generated name')),
    get: async (resource, { name }, signal) => {
      const found = await client.get(resource, { name }, 'latest', signal);
      if (found === undefined) throw StatusError.notFound(resource, name);
      return typed(found);
    },
  };
}

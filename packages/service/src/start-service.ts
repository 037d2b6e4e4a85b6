import { Activities, type Clock, type Random, systemClock, systemRandom } from '@gantry/base';
import { openTlsFolder, type TlsFolder, type TlsSource } from '@gantry/tls';
import { certificateRenewal, type RequestCertificate } from './certificate-renewal.ts';
import { eventLoopWatch } from './event-loop-watch.ts';
import { grpcServer } from './grpc/grpc-server.ts';
import type { GrpcError, GrpcService } from './grpc/grpc-service.ts';
import { healthService } from './grpc/health-service.ts';
import { cachesListed, createHealth, type Health, type HealthCheck } from './health.ts';
import { httpEndpoint } from './http-endpoint.ts';
import { createLogger, type Logger, type LogLevel } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { type GroupMember, type GroupOutcome, runGroup } from './run-group.ts';
import { exitOnStopSignals } from './run-main.ts';

/** The settings that every service has. */
export interface ServiceSettings {
  /** The name in log lines, such as `scheduler`. */
  readonly name: string;
  readonly logLevel: LogLevel;
  /** Folder of the service's own certificate and key, and of the authority of its peers. */
  readonly tlsDir: string;
}

/** Parts that a service has from its start. Constructors take them as `...service.parts`. */
export interface ServiceParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly activities: Activities;
  /** The TLS material of `tlsDir`. */
  readonly tls: TlsSource;
}

/** Copies of the API's objects, kept up to date by `run`. */
export interface Caches {
  /** Names of resources that have not been listed yet. */
  missing(): readonly string[];
  run(signal: AbortSignal): Promise<void>;
}

/** How readiness is determined: all caches were listed and the checks pass, or the service provides its own health. */
export type Readiness =
  | { readonly caches: Caches; readonly ready?: readonly HealthCheck[] }
  | { readonly health: Health };

/** What differs between services. */
export type ServiceWork = Readiness & {
  /** The service's own members. They may use the members before them; see `runGroup`. */
  readonly members: readonly GroupMember[];
  /** Requests a certificate from the cluster's authority. */
  readonly requestCertificate: RequestCertificate;
  /** The TLS folders whose certificates are renewed; `tlsDir` when absent. */
  readonly renewedDirs?: readonly string[];
  /** Addresses for health and metrics over plain HTTP; 127.0.0.1:10255 when absent. */
  readonly endpoints?: readonly { readonly host?: string; readonly port?: number }[];
  /** Address for health and further services over gRPC; not served when absent. */
  readonly grpc?: {
    readonly address: string;
    readonly services: readonly GrpcService[];
    readonly toGrpcError: (error: unknown) => GrpcError;
  };
};

/** A process between its start and its end. Dispose of it after `run`. */
export interface ServiceProcess extends Disposable {
  readonly parts: ServiceParts;
  /** Opens another TLS folder and waits until it contains a certificate. The caller disposes of it. */
  openTls(folder: string): Promise<TlsFolder>;
  /** Runs the service until it is stopped or a member ends. */
  run(work: ServiceWork): Promise<GroupOutcome>;
}

/**
 * Starts the process of a service: log, metrics and TLS. Waits for the certificate. Until `run`, a stop signal ends the process at once.
 */
export async function startService({ name, logLevel, tlsDir }: ServiceSettings): Promise<ServiceProcess> {
  const clock = systemClock;
  const logger = createLogger({ service: name, level: logLevel });
  const startUpIsOver = exitOnStopSignals();
  const openTls = (folder: string) => openTlsFolder(folder, { clock, logger }, new AbortController().signal);
  const tls = await openTls(tlsDir);
  const parts: ServiceParts = {
    clock,
    random: systemRandom,
    logger,
    metrics: createMetrics(),
    activities: new Activities(clock),
    tls,
  };
  return {
    parts,
    openTls,
    run: async (work) => {
      startUpIsOver();
      return await runGroup(serviceMembers(parts, { renewedDirs: [tlsDir], ...work }), parts);
    },
    [Symbol.dispose]: () => tls[Symbol.dispose](),
  };
}

/** The members of a service's process. The service's own ones come last, so that they are stopped first. */
export function serviceMembers(
  parts: ServiceParts,
  work: ServiceWork & { readonly renewedDirs: readonly string[] },
): readonly GroupMember[] {
  const { requestCertificate, renewedDirs, endpoints = [{}], grpc } = work;
  const health = healthOf(work);
  const servers =
    grpc === undefined ? [] : [{ ...grpc, services: [healthService(health, parts.clock), ...grpc.services] }];
  return [
    eventLoopWatch(parts),
    ...endpoints.map((address) => httpEndpoint({ health, metrics: parts.metrics, ...address })),
    ...servers.map((server) => grpcServer({ ...parts, ...server })),
    ...renewedDirs.map((folder) => certificateRenewal({ ...parts, folder, requestCertificate })),
    ...('caches' in work ? [{ name: 'caches', run: (signal: AbortSignal) => work.caches.run(signal) }] : []),
    ...work.members,
  ];
}

function healthOf(readiness: Readiness): Health {
  if ('health' in readiness) return readiness.health;
  const { caches, ready = [] } = readiness;
  return createHealth({ ready: [cachesListed(() => caches.missing()), ...ready] });
}

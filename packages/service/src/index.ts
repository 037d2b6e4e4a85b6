/**
 * The shell of every service process, apart from its own work.
 *
 * - `config`, `logger`, `metrics`, `health`: settings read once, JSON logs, metrics, liveness and readiness
 * - `run-main`, `run-group`: the members of a process, run together and stopped in order
 * - `connections/`: limits of open connections, and certificates that end while theirs are open
 * - `starts`: bounds what begins in one round of the event loop, with turns for each user and address
 * - `event-loop-watch`: stalls of the event loop, logged with what ran and counted
 * - `grpc/`: a gRPC server with mutual TLS and the health service; `http-endpoint`: health and metrics over plain HTTP
 * - `certificate-renewal`: renews the certificate of a TLS folder
 * - `replace-file`: files that others read while they are written
 * - `start-service`: the start of a service, and the members that all services have; a service's `run-*.ts` says what differs
 *
 * Used by all services in their `main.ts`. It knows nothing of Kubernetes objects.
 */
export { type Connection, type ConnectionLimits, Connections } from './connections/connections.ts';
export { Places } from './connections/places.ts';
export { whenGreeted } from './connections/when-greeted.ts';
export { PeerTrust, type TrustedPeer } from './connections/peer-trust.ts';
export { eventLoopWatch } from './event-loop-watch.ts';
export { ConfigError, type ConfigReader, type LeaseTimes, readConfig, readLeaseTimes, settingsOf } from './config.ts';
export { type GrpcServer, grpcServer } from './grpc/grpc-server.ts';
export type { GrpcCall, GrpcService } from './grpc/grpc-service.ts';
export { healthService } from './grpc/health-service.ts';
export { introspectionService, type ReportedParts } from './grpc/introspection-service.ts';
export { identityOfCertificate, type PeerIdentity } from './grpc/peer-identity.ts';
export { createHealth, type Health, type HealthCheck } from './health.ts';
export { httpEndpoint } from './http-endpoint.ts';
export { leaseMeter } from './meters.ts';
export { createLogger, LOG_LEVELS, type Logger, type LogLevel, silentLogger } from './logger.ts';
export {
  type Counter,
  createMetrics,
  exponentialBuckets,
  type Gauge,
  type Histogram,
  type Metrics,
  type MetricValue,
} from './metrics.ts';
export { Tally } from './tally.ts';
export {
  type GroupMember,
  type GroupOutcome,
  runGroup,
} from './run-group.ts';
export { replaceFile } from './replace-file.ts';
export { runMain } from './run-main.ts';
export { CrowdError, type Source, Starts } from './starts.ts';
export { startService } from './start-service.ts';

/**
 * The shell of every process: configuration read once, TLS files that may be renewed, JSON logs, metrics, health, a gRPC
 * server with mutual TLS, and an ordered stop.
 */
export {
  certificateRenewal,
  type CertificateRenewalOptions,
  type RequestCertificate,
} from './certificate-renewal.ts';
export { ConfigError, type ConfigReader, createConfigReader, readConfig } from './config.ts';
export { createCertificateProvider } from './grpc/certificate-provider.ts';
export {
  type GrpcCall,
  type GrpcError,
  type GrpcHandler,
  grpcServer,
  type GrpcServerOptions,
  type GrpcService,
  StreamEndedError,
} from './grpc/grpc-server.ts';
export { healthService } from './grpc/health-service.ts';
export { identityOfCertificate, type PeerIdentity } from './grpc/peer-identity.ts';
export { cachesListed, createHealth, type Health, type HealthCheck } from './health.ts';
export { httpEndpoint, type HttpEndpointOptions } from './http-endpoint.ts';
export { createLogger, LOG_LEVELS, type Logger, type LogLevel, silentLogger } from './logger.ts';
export { type Counter, createMetrics, type Gauge, type Histogram, type Labels, type Metrics } from './metrics.ts';
export {
  exitCodeOf,
  type GroupMember,
  type GroupOptions,
  type GroupOutcome,
  runGroup,
  type SignalSource,
  type StopSignal,
} from './run-group.ts';
export { exitOnStopSignals, runMain } from './run-main.ts';
export {
  fixedTls,
  openTlsFolder,
  readTlsFolder,
  TlsFilesError,
  type TlsFolder,
  type TlsMaterial,
  type TlsSource,
} from './tls-folder.ts';

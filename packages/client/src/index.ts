/**
 * Reads, writes and watches objects: one interface, two transports.
 *
 * - `object-client`: the interfaces; a transport implements `ObjectTransport`, `object-calls` adds the typed writes
 * - `grpc`: inside the cluster, to all API servers, with failover and the leader's fence
 * - `http`: outside, with a kubeconfig; and to aggregated API servers
 * - `certificate-requester`: a service's own certificate, by a CertificateSigningRequest
 * - `expected-failures`: for callers to whom a missing or existing object, a namespace that is being deleted, or an outage is no failure
 *
 * All services, the benchmarks and the integration tests use it. `./testing` has a fake client and the contract suite that it
 * and both transports pass.
 */
export { type CertificateRequestClient, createCertificateRequester } from './certificate-requester.ts';
export { createGrpcClient, type GrpcClient } from './grpc/grpc-client.ts';
export { fromFailedCall, toGrpcFailure } from './grpc/status-mapping.ts';
export { type DiscoveredResource, discoverResources } from './http/discover-resources.ts';
export { FENCE_HEADER, parseFence } from './http/fence-header.ts';
export { createHttpClient, type HttpClient, pathOf } from './http/http-client.ts';
export type { Dialled, ExchangeReport } from './http/http-transport.ts';
export {
  bytesOf,
  type HttpTarget,
  type KubeContext,
  KubeconfigError,
  type Material,
  parseKubeconfig,
  podAccount,
  readContext,
  readKubeconfig,
} from './http/kubeconfig.ts';
export { backoffAfter, ignoreNotFound, ignoreReasons, isNamespaceTerminating, isOutage } from './expected-failures.ts';
export { createObjectClient } from './object-calls.ts';
export type {
  Fence,
  LeaseFence,
  ListOptions,
  ObjectList,
  ObjectClient,
  ObjectReader,
  ObjectTransport,
  ObjectWrite,
  ObjectWriter,
  PatchType,
  SubresourceKey,
  SubresourceWriter,
  WatchEvent,
  WatchOptions,
  WriteResult,
  WriteSender,
} from './object-client.ts';
export { writeResult } from './write-result.ts';

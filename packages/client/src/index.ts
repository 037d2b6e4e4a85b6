/** Reads, writes and watches objects: one interface, two transports (gRPC inside the cluster, HTTPS and a kubeconfig outside). */
export { createGrpcClient, type GrpcClient, type GrpcClientOptions } from './grpc/grpc-client.ts';
export { fromFailedCall, type GrpcFailure, STATUS_TRAILER, toGrpcFailure } from './grpc/status-mapping.ts';
export { type DiscoveredResource, discoverResources } from './http/discover-resources.ts';
export { createHttpClient, type HttpClient, type HttpClientOptions, pathOf } from './http/http-client.ts';
export type { HttpRequest } from './http/http-transport.ts';
export { type HttpTarget, parseKubeconfig, readKubeconfig } from './http/kubeconfig.ts';
export type {
  DeleteOptions,
  Fence,
  ListOptions,
  ObjectClient,
  ObjectList,
  ObjectReader,
  ObjectWrite,
  ObjectWriter,
  PatchType,
  WatchEvent,
  WatchOptions,
  WriteResult,
} from './object-client.ts';
export type { TlsMaterial, TlsSource } from './tls-source.ts';

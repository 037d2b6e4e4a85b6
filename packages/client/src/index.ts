/** Reads, writes and watches objects: one interface, two transports (gRPC inside the cluster, HTTPS and a kubeconfig outside). */
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

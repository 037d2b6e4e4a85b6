/**
 * The registry reads and writes objects of all kinds, for REST and gRPC.
 *
 * - `contract/registry.ts`: the interface that the endpoints use.
 * - `reading/`: gets, lists and watches. They use the watch cache if it is fresh enough.
 * - `writing/`: `pipeline.ts` defines the order of the steps of a write, `attempts.ts` is the retry loop, `admission-chain.ts` runs
 *   admission, and `committer.ts` writes to the store.
 * - `verbs/`: the steps that differ between verbs. `drafts/`: the objects that the pipeline processes. `subresources/`: the rules of each
 *   subresource.
 * - `objects/`: operations on one object: metadata, deletion, field managers, decoding.
 * - `create-registry.ts` creates the registry; `by-method.ts` chooses the verb of a request.
 *
 * `createRegistry` needs a running watch cache.
 */
export {
  type Body,
  DELETE_AS_USUAL,
  type DeleteBody,
  deleteBody,
  type DeleteOptions,
  EVERYTHING,
  jsonBody,
  type ListRequest,
  type ListResponse,
  type Registry,
  type RegistryReader,
  type RegistryStreams,
  type RegistryWriter,
  type RequestContext,
  requestContext,
  type Target,
  type WatchRequest,
  type WriteOptions,
} from './contract/registry.ts';
export type { ComponentHealth, RegistryDependencies, RegistrySettings, StoreHealth } from './contract/dependencies.ts';
export { createRegistry } from './create-registry.ts';
export { streamOptions } from './subresources/streams.ts';

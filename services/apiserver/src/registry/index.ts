/**
 * The registry reads and writes objects of all kinds, for REST and gRPC.
 *
 * - `contract/registry.ts`: the interface that the endpoints use.
 * - `reading/`: gets, lists and watches, from the watch cache where it is fresh enough.
 * - `writing/`: `pipeline.ts` has the order of every write, `attempts.ts` its one retry loop, `admission-chain.ts` and
 *   `committer.ts` the way to admission and to the store.
 * - `verbs/`: how the verbs differ; `drafts/`: the objects that pass through the order; `subresources/`: what each of them says.
 * - `objects/`: what is done to one object: metadata, deletion, managers, decoding.
 * - `create-registry.ts` puts the parts together; `by-method.ts` chooses the verb of a request.
 *
 * `createRegistry` needs a watch cache that runs.
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

import type { ResourceRegistry } from '../../resource-registry.ts';
import type { Served } from './served-groups.ts';
import type { ApiServiceIndex } from '../../aggregation/api-service-index.ts';
import type { RemoteDirectory } from '../../aggregation/remote-documents.ts';
import type { RemoteOpenApi } from '../../aggregation/remote-openapi.ts';

/** All APIs in discovery and OpenAPI: those of this server and of extension servers. */
export interface PublishedApis {
  /** Increases with every change. */
  readonly generation: number;
  served(): Served;
  /** The OpenAPI documents of extension servers, by path below `/openapi/v3/`. */
  openApis(): ReadonlyMap<string, RemoteOpenApi>;
}

export function createPublishedApis(
  resourceRegistry: ResourceRegistry,
  index: ApiServiceIndex,
  directory: RemoteDirectory,
): PublishedApis {
  return {
    get generation() {
      return resourceRegistry.generation + index.generation + directory.generation;
    },
    served: () => ({
      definitions: resourceRegistry.definitions.filter(
        ({ group, version }) => index.remote(group, version) === undefined,
      ),
      remotes: index.remotes.map((remote) => {
        const { resources, freshness } = directory.documents(remote);
        const { group, version } = remote;
        return { group, version, freshness, resources };
      }),
      priority: index.priority,
    }),
    openApis: () =>
      new Map(
        index.remotes.flatMap((remote) => {
          const { openApi } = directory.documents(remote);
          return openApi === undefined ? [] : [[`apis/${remote.group}/${remote.version}`, openApi] as const];
        }),
      ),
  };
}

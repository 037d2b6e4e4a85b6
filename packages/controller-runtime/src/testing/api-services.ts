import type { APIService, Resource } from '@gantry/objects';

/** A resource of the group version of `wardleApiService()`. */
export const FLUNDERS: Resource = {
  group: 'wardle.example.com',
  version: 'v1',
  resource: 'flunders',
  kind: 'Flunder',
  namespaced: true,
};

type Spec = NonNullable<APIService['spec']>;

/** An APIService of wardle.example.com/v1; by default its resources are served by an aggregated API server. */
export function wardleApiService(spec: Partial<Spec> = { service: { namespace: 'default', name: 'api' } }): APIService {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.wardle.example.com' },
    spec: { group: 'wardle.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15, ...spec },
  };
}

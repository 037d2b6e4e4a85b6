import type { Kind } from '../api/kinds.ts';

/** A kind with all verbs, by its id: `deployments.apps`. */
export function kindOf(id: string, given: Partial<Kind> = {}): Kind {
  const [resource = '', ...group] = id.split('.');
  const kind = resource.charAt(0).toUpperCase() + resource.slice(1, -1);
  return {
    id,
    group: group.join('.'),
    version: 'v1',
    resource,
    kind,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    isNamespaced: true,
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: [],
    ...given,
  };
}

export const PODS = kindOf('pods', { subresources: ['attach', 'ephemeralcontainers', 'exec', 'log', 'proxy'] });
export const DEPLOYMENTS = kindOf('deployments.apps', { subresources: ['scale', 'status'], shortNames: ['deploy'] });
export const NODES = kindOf('nodes', { subresources: ['proxy', 'status'], isNamespaced: false });
export const CONFIG_MAPS = kindOf('configmaps');

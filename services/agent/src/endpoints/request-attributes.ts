/** The permissions that a request to a node needs. One of the subresources is sufficient. */
export interface NodeRequest {
  readonly verb: string;
  readonly subresources: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Paths with their own permission. For the first list, `proxy` is sufficient, too. */
const FINE: Readonly<Record<string, string>> = {
  '/pods': 'pods',
  '/runningpods': 'pods',
  '/healthz': 'healthz',
  '/configz': 'configz',
};
const ALONE: Readonly<Record<string, string>> = { '/stats': 'stats', '/metrics': 'metrics', '/logs': 'log' };

/** The permissions that a request to a node needs, as in pkg/kubelet/server/auth.go. */
export function nodeRequest(method: string, path: string): NodeRequest {
  const verb = VERBS[method] ?? '';
  const alone = entryOf(ALONE, path);
  if (alone !== undefined) return { verb, subresources: [alone] };
  const fine = entryOf(FINE, path);
  return { verb, subresources: fine === undefined ? ['proxy'] : [fine, 'proxy'] };
}

function entryOf(table: Readonly<Record<string, string>>, path: string): string | undefined {
  const [, name = ''] = path.split('/');
  return Object.hasOwn(table, `/${name}`) ? table[`/${name}`] : undefined;
}

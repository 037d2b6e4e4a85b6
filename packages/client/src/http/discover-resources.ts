import { parseJson } from '@gantry/apimachinery';
import { StatusError } from '@gantry/objects';
import type { HttpClient } from './http-client.ts';

/** One resource of a group version as discovery describes it. */
export interface DiscoveredResource {
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface RawResourceList {
  readonly kind?: string;
  readonly resources?: readonly {
    readonly name?: string;
    readonly kind?: string;
    readonly namespaced?: boolean;
    readonly verbs?: readonly string[] | null;
  }[];
}

/** The resources of a group version, without subresources. Rejects with StatusError when no server serves the group version. */
export async function discoverResources(
  client: Pick<HttpClient, 'raw'>,
  { group, version }: { readonly group: string; readonly version: string },
  signal: AbortSignal,
): Promise<readonly DiscoveredResource[]> {
  const text = await client.raw({ method: 'GET', path: `/apis/${group}/${version}` }, signal);
  const { kind, resources } = parseDiscovery(text);
  if (kind !== 'APIResourceList') throw StatusError.unavailable(`${group}/${version}: not a list of resources`);
  return (resources ?? [])
    .filter(({ name = '' }) => name !== '' && !name.includes('/'))
    .map((found) => ({
      resource: found.name ?? '',
      kind: found.kind ?? '',
      namespaced: found.namespaced === true,
      verbs: Array.isArray(found.verbs) ? found.verbs : [],
    }));
}

function parseDiscovery(text: string): RawResourceList {
  try {
    return parseJson(text) ?? {};
  } catch (error) {
    throw StatusError.unavailable(`the list of resources cannot be read: ${String(error)}`);
  }
}

import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { apiVersionOf, type Kind } from '../api/kinds.ts';
import { useConsole } from '../shell/console-context.ts';
import { SchemaLookup, type Schemas } from './schema.ts';

/** The cluster's own schema of a kind; undefined while it loads, and for kinds that have none. */
export function useSchema(kind: Kind): { readonly lookup: SchemaLookup | undefined; readonly isLoading: boolean } {
  const { api } = useConsole();
  const apiVersion = apiVersionOf(kind);
  const path = kind.group === '' ? `/openapi/v3/api/${apiVersion}` : `/openapi/v3/apis/${apiVersion}`;
  const { data, isLoading } = useQuery({
    queryKey: ['openapi', path],
    queryFn: async ({ signal }) => {
      const { components } = await api.json<{ components?: { schemas?: Schemas } }>(path, { signal });
      return components?.schemas ?? {};
    },
    staleTime: 5 * 60_000,
    retry: false,
  });
  const lookup = useMemo(() => {
    const found = data && new SchemaLookup(data, kind.group, kind.version, kind.kind);
    return found?.root === undefined ? undefined : found;
  }, [data, kind]);
  return { lookup, isLoading };
}

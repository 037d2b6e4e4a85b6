import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useConsole } from '../shell/console-context.ts';

/** A report of the control plane, read again and again while it is wanted. The server gathers it at most twice a second. */
export function useReport<T>(name: string, everyMs: number, isWanted = true) {
  const { api } = useConsole();
  return useQuery({
    queryKey: ['report', name],
    enabled: isWanted,
    queryFn: ({ signal }) => api.json<T>(`/gantry/v1/${name}`, { signal }),
    refetchInterval: everyMs,
    retry: false,
    // A failover is looked for in each report.
    structuralSharing: false,
  });
}

/** Samples of the last minutes: for a chart. */
const KEPT = 300;

/** The values of reports since the page was opened: Unix seconds and one list for each name. */
export function useSamples(
  at: string | undefined,
  values: Readonly<Record<string, number | null>>,
): { readonly names: readonly string[]; readonly data: readonly (readonly (number | null)[])[] } {
  const [samples, setSamples] = useState<readonly { readonly at: number; readonly values: typeof values }[]>([]);
  useEffect(() => {
    if (at !== undefined) setSamples((old) => [...old.slice(-KEPT), { at: Date.parse(at) / 1000, values }]);
    // A report's values are those of its time.
  }, [at]);
  const names = Object.keys(values);
  return {
    names,
    data: [
      samples.map((sample) => sample.at),
      ...names.map((name) => samples.map((sample) => sample.values[name] ?? null)),
    ],
  };
}

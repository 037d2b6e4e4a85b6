import type { Clock, Random } from '@gantry/base';
import { type QueryFunctionContext, useQueries, useQuery } from '@tanstack/react-query';
import { createContext, use, useEffect, useState, useSyncExternalStore } from 'react';
import { allows, type Asked, type Attempt, type PathRule, type ResourceRule, type Rules } from '../api/access.ts';
import type { Api } from '../api/http.ts';
import type { Kind } from '../api/kinds.ts';
import { type Collection, type Format, LiveCollection } from '../watch/live-collection.ts';
import { pageIsHidden, watchPageVisibility } from './page-visibility.ts';

/** What every page has. */
interface Console {
  readonly api: Api;
  readonly kinds: readonly Kind[];
  /** API versions whose server does not respond: their kinds are absent, or those of before. */
  readonly stale: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  /** The revision of the past that pages show; undefined: now. */
  readonly at: string | undefined;
}

export const ConsoleContext = createContext<Console | undefined>(undefined);

class NoConsoleError extends Error {
  override readonly name = 'NoConsoleError';
}

export function useConsole(): Console {
  const found = use(ConsoleContext);
  if (found === undefined) throw new NoConsoleError('useConsole is called outside of ConsoleContext');
  return found;
}

/** The kind with this id, if the server has it. */
export function useKind(id: string): Kind | undefined {
  return useConsole().kinds.find((kind) => kind.id === id);
}

/** The versions of a kind's group whose server does not respond. The server may not know the kind. */
export function useStaleVersions(id: string): readonly string[] {
  const group = id.includes('.') ? id.slice(id.indexOf('.') + 1) : '';
  return useConsole().stale.filter((version) => version.startsWith(`${group}/`));
}

interface RulesStatus {
  readonly resourceRules?: readonly ResourceRule[];
  readonly nonResourceRules?: readonly PathRule[];
  readonly incomplete?: boolean;
}

/** Rights are asked for again after this. */
const RIGHTS_MS = 60_000;
const NOTHING_ALLOWED: Rules = { rules: [], isIncomplete: false };
const NOTHING_YET: Rules = { ...NOTHING_ALLOWED, isLoading: true };

/** What the user may do in a namespace; nothing until the server has responded, and when it has not been able to. */
export function useRules(namespace: string): Rules {
  const { api } = useConsole();
  return rulesFrom(useQuery(rulesQuery(api, namespace)));
}

function rulesQuery(api: Api, namespace: string) {
  return {
    queryKey: ['rules', namespace],
    queryFn: async ({ signal }: QueryFunctionContext): Promise<Rules> => {
      const review = await api.json<{ status?: RulesStatus }>('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
        method: 'POST',
        body: { spec: { namespace } },
        signal,
      });
      const { resourceRules = [], nonResourceRules = [], incomplete } = review.status ?? {};
      return { rules: resourceRules, paths: nonResourceRules, isIncomplete: incomplete === true };
    },
    staleTime: RIGHTS_MS,
  };
}

function rulesFrom({ data, isPending }: { readonly data: Rules | undefined; readonly isPending: boolean }): Rules {
  return data ?? (isPending ? NOTHING_YET : NOTHING_ALLOWED);
}

/** Whether the user may do something in the whole cluster: who may do it with any name is not asked about each. */
function reviewQuery(api: Api, attempt: Attempt) {
  const { name, ...ofAny } = attempt;
  return {
    queryKey: ['review', keyOfAttempt(attempt)],
    queryFn: async ({ signal, client }: QueryFunctionContext): Promise<boolean> => {
      if (name !== undefined && (await client.fetchQuery(reviewQuery(api, ofAny)))) return true;
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      const body = { spec: { resourceAttributes: attempt } };
      const { status } = await api.json<{ status?: { allowed?: boolean } }>(path, { method: 'POST', body, signal });
      return status?.allowed === true;
    },
    staleTime: RIGHTS_MS,
  };
}

interface Allowed<Of> {
  readonly may: (of: Of) => boolean;
  /** The server has not responded yet: until then, nothing is allowed. */
  readonly isLoading: boolean;
}

/**
 * Which of the attempts are allowed: by the rules of their namespaces; in the whole cluster by a review of each, because rules of a namespace do
 * not say whether they hold outside it.
 */
export function useAllowedEach(asked: readonly Asked[]): Allowed<Asked> {
  const { api } = useConsole();
  const namespaces = [...new Set(asked.map(({ namespace }) => namespace))].filter((namespace) => namespace !== '');
  const wide = asked.filter(({ namespace }) => namespace === '');
  const reviews = [...new Map(wide.map(({ attempt }) => [keyOfAttempt(attempt), attempt])).values()];
  const rules = useQueries({ queries: namespaces.map((namespace) => rulesQuery(api, namespace)) });
  const reviewed = useQueries({ queries: reviews.map((attempt) => reviewQuery(api, attempt)) });
  const rulesOf = new Map(rules.map((result, index) => [namespaces[index], rulesFrom(result)]));
  const allowed = new Set(reviews.filter((_, index) => reviewed[index]?.data === true).map(keyOfAttempt));
  return {
    may: ({ namespace, attempt }) =>
      namespace === ''
        ? allowed.has(keyOfAttempt(attempt))
        : allows(rulesOf.get(namespace) ?? NOTHING_ALLOWED, attempt),
    isLoading: [...rules, ...reviewed].some(({ isPending }) => isPending),
  };
}

/** As `useAllowedEach`, with attempts in one namespace; '' for objects without one. */
export function useAllowed(namespace: string, attempts: readonly Attempt[]): Allowed<Attempt> {
  const { may, isLoading } = useAllowedEach(attempts.map((attempt) => ({ namespace, attempt })));
  return { may: (attempt) => may({ namespace, attempt }), isLoading };
}

function keyOfAttempt({ verb, group, resource, subresource, name }: Attempt): string {
  return [verb, group, resource, subresource, name].join('/');
}

interface LiveOptions<Row> {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly format: Format<Row>;
  /** No requests while false. */
  readonly isEnabled?: boolean;
  /** Must not change. Absent: fast enough for a table. */
  readonly publishMs?: number;
}

/** Rows of a collection, live. A collection of another path or query is another one. The format must not change. */
export function useLive<Row>({ path, query, format, isEnabled = true, publishMs }: LiveOptions<Row>): Collection<Row> {
  const { api, clock, random, at } = useConsole();
  const queryKey = JSON.stringify(query ?? {});
  const create = () =>
    new LiveCollection({
      fetch: api.fetch,
      // A WebSocket cannot ask for Tables: browsers set no headers for it.
      openSocket: format.accept === 'application/json' ? (url) => new WebSocket(api.socketUrl(url)) : undefined,
      path,
      query: JSON.parse(queryKey) as Record<string, string>,
      format,
      clock,
      random,
      at,
      publishMs,
    });
  const key = `${path} ${queryKey} ${at ?? ''}`;
  const [current, setCurrent] = useState(() => ({ key, collection: create() }));
  const used = current.key === key ? current : { key, collection: create() };
  if (used !== current) setCurrent(used);
  const { collection } = used;
  const isHidden = useSyncExternalStore(watchPageVisibility, pageIsHidden);
  useEffect(() => {
    if (!isEnabled || isHidden) return undefined;
    const abort = new AbortController();
    void collection.run(abort.signal);
    return () => abort.abort();
  }, [collection, isEnabled, isHidden]);
  return useSyncExternalStore(collection.subscribe, collection.view);
}

/** The time, which moves every `everyMs`: for ages. */
export function useNow(everyMs = 10_000): number {
  const { clock } = useConsole();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    let cancel = () => {};
    const tick = () => {
      setNow(clock.now());
      cancel = clock.setTimer(everyMs, tick);
    };
    cancel = clock.setTimer(everyMs, tick);
    return () => cancel();
  }, [clock, everyMs]);
  return now;
}

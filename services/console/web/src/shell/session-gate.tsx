import { type Clock, errorMessage, type Random, systemClock, withDeadline } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { type QueryClient, QueryClientProvider, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useMemo, useState } from 'react';
import { createApi, readSession, type Session, signIn, signOut } from '../api/http.ts';
import { type GroupDiscovery, kindsFrom, staleVersions } from '../api/kinds.ts';
import { ConsoleContext } from './console-context.ts';
import { Busy, Failure } from './notices.tsx';
import { createQueries, mayPass } from './queries.ts';
import { type RecordedRun, RecordedRunContext } from './recorded-run.ts';
import { SignOutContext } from './sign-out.ts';

const SESSION = ['session'];
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** The API server has discovery in memory. */
const DISCOVERY_MS = 15_000;

/** Takes the code of a one-time link out of the address: it must not stay in the history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined;
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/**
 * Ends a session here, with all that was read in it: the next user must not see that. A late response to a session that has ended before is
 * none of the present one.
 */
function forget(queries: QueryClient, { csrf }: Session): void {
  if (queries.getQueryData<Session | null>(SESSION)?.csrf !== csrf) return;
  queries.setQueryData(SESSION, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
}

/** `systemRandom` is for Node.js. */
const browserRandom: Random = () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;

/** Shows its children to those who are signed in, and a form to others. */
export function SessionGate({
  children,
  clock = systemClock,
}: {
  readonly children: ReactNode;
  readonly clock?: Clock;
}): ReactNode {
  const queries = useQueryClient();
  const [code] = useState(takeCode);
  // Without them there is no page: they are asked for until there is an answer.
  const retry = (_: number, error: unknown) => mayPass(error);
  const {
    data: session,
    error,
    failureReason,
  } = useQuery({
    queryKey: SESSION,
    // Who has signed in already goes on: the code of a link is for others.
    queryFn: async ({ signal }) =>
      (await readSession(clock, signal)) ?? (code === undefined ? null : await signIn(clock, { code })),
    staleTime: Number.POSITIVE_INFINITY,
    retry,
  });
  const api = useMemo(
    () => (session ? createApi(clock, session, () => forget(queries, session)) : undefined),
    [clock, session, queries],
  );
  const kinds = useQuery({
    queryKey: ['kinds', session?.user],
    enabled: api !== undefined,
    queryFn: async ({ signal: parent }) => {
      using signal = withDeadline(clock, parent, DISCOVERY_MS);
      const read = (path: string) =>
        api?.json<{ items?: readonly GroupDiscovery[] }>(path, { accept: AGGREGATED, signal });
      const [core, groups] = await Promise.all([read('/api'), read('/apis')]);
      const items = [...(core?.items ?? []), ...(groups?.items ?? [])];
      return { kinds: kindsFrom(items), stale: staleVersions(items) };
    },
    refetchInterval: 60_000,
    retry,
  });
  const [run, show] = useState<RecordedRun>();
  const value = useMemo(() => {
    if (api === undefined || kinds.data === undefined) return undefined;
    const shared = { clock, random: browserRandom };
    if (run === undefined) return { ...shared, api, ...kinds.data, at: undefined };
    return { ...shared, api: run.apiFor(api.session), kinds: run.kinds, stale: [], at: run.at };
  }, [api, clock, kinds.data, run]);
  const recorded = useMemo(() => ({ run, show }), [run]);
  // What was read of the cluster is none of the run's.
  const recordedQueries = useMemo(() => (run === undefined ? undefined : createQueries()), [run]);

  if (session === undefined && error === null) return <Busy what="the session" failure={failureReason} />;
  if (!session) return <SignIn clock={clock} failure={error ?? undefined} />;
  if (kinds.error && kinds.data === undefined) return <Failure error={kinds.error} what="the kinds of the server" />;
  if (value === undefined) return <Busy what="the kinds of the server" failure={kinds.failureReason} />;
  const leave = async () => {
    try {
      await signOut(clock, session);
    } catch (error) {
      // A session that the server does not know has ended.
      if (!(error instanceof StatusError && error.code === 401)) throw error;
    }
    forget(queries, session);
  };
  return (
    <RecordedRunContext value={recorded}>
      <ConsoleContext value={value}>
        <SignOutContext value={() => void leave()}>
          {recordedQueries === undefined ? (
            children
          ) : (
            <QueryClientProvider client={recordedQueries}>{children}</QueryClientProvider>
          )}
        </SignOutContext>
      </ConsoleContext>
    </RecordedRunContext>
  );
}

function SignIn({ clock, failure }: { readonly clock: Clock; readonly failure: unknown }): ReactNode {
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(failure);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get('token') ?? '').trim();
    setIsBusy(true);
    try {
      queries.setQueryData(SESSION, await signIn(clock, { token }));
    } catch (refusal) {
      setError(refusal);
      setIsBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <h1>Gantry</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label htmlFor="token">Token of a ServiceAccount</label>
        <input
          id="token"
          name="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          aria-describedby="token-help"
          aria-invalid={error !== undefined}
        />
        <button type="submit" className="primary" disabled={isBusy}>
          Sign in
        </button>
        {error === undefined ? null : (
          <p className="bad" role="alert">
            {errorMessage(error)}
          </p>
        )}
        <p id="token-help" className="muted">
          <code>npm run console</code> prints a link that signs you in. <code>kubectl create token NAME</code> makes a
          token.
        </p>
      </form>
    </main>
  );
}

import { Link, Outlet, useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, use, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Palette } from '../palette/palette.tsx';
import { ConsoleContext, useConsole } from './console-context.ts';
import { Navigation } from './navigation.tsx';
import { NamespacePicker } from './namespace-picker.tsx';
import { RecordedRunContext } from './recorded-run.ts';
import { SignOutContext } from './sign-out.ts';
import { ThemeButton } from './theme-button.tsx';

/** What surrounds every page: header, navigation, the command palette. */
export function Frame(): ReactNode {
  const base = useConsole();
  const { at } = useSearch({ from: '__root__' });
  const { run } = use(RecordedRunContext);
  const value = useMemo(() => ({ ...base, at: at ?? base.at }), [base, at]);
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  const [isNavigationOpen, setIsNavigationOpen] = useState(false);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  // Not after the page was painted: what is seen takes keys. Nor is the palette loaded later: what is typed after Ctrl-K is for it.
  useLayoutEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      setIsPaletteOpen(true);
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  useEffect(() => {
    setIsNavigationOpen(false);
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <ConsoleContext value={value}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="top">
        <button
          type="button"
          className="quiet only-narrow"
          aria-expanded={isNavigationOpen}
          aria-controls="navigation"
          onClick={() => setIsNavigationOpen(!isNavigationOpen)}
        >
          Menu
        </button>
        <Link to="/" className="brand">
          Gantry
        </Link>
        <NamespacePicker />
        <button type="button" className="search-button" onClick={() => setIsPaletteOpen(true)}>
          <span>Search</span> <kbd>Ctrl K</kbd>
        </button>
        <ThemeButton />
        <UserMenu />
      </header>
      <div className="body" data-navigation={isNavigationOpen ? 'open' : 'closed'}>
        <Navigation />
        <main id="main" ref={main} tabIndex={-1}>
          {run === undefined ? null : <RecordedBanner />}
          {at === undefined ? null : <PastBanner at={at} />}
          <Outlet />
        </main>
      </div>
      {isPaletteOpen ? <Palette onClose={() => setIsPaletteOpen(false)} /> : null}
    </ConsoleContext>
  );
}

/** Views of what no history has. */
const OF_NOW: ReadonlySet<string> = new Set(['/control-loops', '/etcd']);

function PastBanner({ at }: { readonly at: string }): ReactNode {
  const { run } = use(RecordedRunContext);
  const navigate = useNavigate();
  const isOfNow = OF_NOW.has(useLocation().pathname);
  const toNow = () => void navigate({ to: '.', search: (old) => ({ ...old, at: undefined }) });
  return (
    <div className="notice waiting past" role="status">
      <strong>The past:</strong> lists show revision <code>{at}</code>. Nothing can be changed there.{' '}
      {isOfNow ? 'Nobody keeps the past of this view: it shows now. ' : ''}
      <button type="button" onClick={toNow}>
        {run === undefined ? 'Back to now' : 'To its end'}
      </button>
    </div>
  );
}

/** All pages show a recorded run. */
function RecordedBanner(): ReactNode {
  const { run, show } = use(RecordedRunContext);
  const navigate = useNavigate();
  const close = () => {
    show(undefined);
    void navigate({ to: '/history', search: {} });
  };
  return (
    <div className="notice waiting past" role="status">
      <strong>A recorded run:</strong> all views show <code>{run?.name}</code>, not the cluster.{' '}
      <button type="button" onClick={close}>
        Close the run
      </button>
    </div>
  );
}

function UserMenu(): ReactNode {
  const { session } = useConsole().api;
  const signOut = use(SignOutContext);
  const shortName = session.user.split(':').at(-1) ?? session.user;
  return (
    <details className="menu">
      <summary aria-label={`${shortName} (signed in as ${session.user})`}>{shortName}</summary>
      <div className="menu-content">
        <p>
          <strong>{session.user}</strong>
          <br />
          <span className="muted">{session.groups.join(', ')}</span>
        </p>
        <p className="muted">
          Cluster {session.cluster.id} {session.cluster.version}
        </p>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </div>
    </details>
  );
}

import { Link, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { allows, allowsPath, type Rules } from '../api/access.ts';
import { type Area, AREAS, areaOf, type Kind } from '../api/kinds.ts';
import { useConsole, useRules } from './console-context.ts';
import { Stale } from './notices.tsx';

/** The kinds that people look for most; the others are folded. */
const USUAL: ReadonlySet<string> = new Set([
  'pods',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'services',
  'ingresses.networking.k8s.io',
  'configmaps',
  'secrets',
  'persistentvolumeclaims',
  'nodes',
  'namespaces',
  'events',
]);

const readsPath = (path: string) => (rules: Rules) => allowsPath(rules, path);

/** Pages about the control plane, for those who may read what it says of itself. `about` has what people look for there, for the palette. */
const PAGES = [
  {
    to: '/control-loops',
    title: 'Control loops',
    about: 'leaders failover',
    isFor: readsPath('/gantry/v1/leaders'),
  },
  { to: '/etcd', title: 'etcd and API', about: 'members quota', isFor: readsPath('/gantry/v1/etcd') },
  { to: '/history', title: 'History', about: 'changes time travel', isFor: readsPath('/gantry/v1/history') },
  {
    to: '/chaos',
    title: 'Chaos',
    about: 'faults kill pause',
    isFor: (rules: Rules) => allows(rules, { verb: 'list', group: 'chaos.gantry.dev', resource: 'chaosruns' }),
  },
] as const;

/** The pages that a user may see. */
export function pagesFor(rules: Rules): readonly Omit<(typeof PAGES)[number], 'isFor'>[] {
  return PAGES.filter(({ isFor }) => isFor(rules));
}

/** Links to pages and to the kinds that the user may list. */
export function Navigation(): ReactNode {
  const { kinds, stale } = useConsole();
  const { ns = 'default' } = useSearch({ from: '__root__' });
  const rules = useRules(ns);
  const areas = useMemo(() => {
    const visible = kinds.filter(({ group, resource }) => allows(rules, { verb: 'list', group, resource }));
    return Map.groupBy(visible, areaOf);
  }, [kinds, rules]);
  return (
    <nav id="navigation" aria-label="Views and kinds">
      <ul>
        <li>
          <Link to="/" activeOptions={{ exact: true }}>
            Cluster
          </Link>
        </li>
        {pagesFor(rules).map(({ to, title }) => (
          <li key={to}>
            <Link to={to}>{title}</Link>
          </li>
        ))}
      </ul>
      {AREAS.map((area) => (
        <KindList key={area} area={area} kinds={areas.get(area) ?? []} />
      ))}
      <Stale versions={stale} />
    </nav>
  );
}

function KindList({ area, kinds }: { readonly area: Area; readonly kinds: readonly Kind[] }): ReactNode {
  const isUsual = (kind: Kind) => USUAL.has(kind.id) || area === 'Custom';
  const usual = kinds.filter(isUsual);
  const others = kinds.filter((kind) => !isUsual(kind));
  if (kinds.length === 0) return null;
  return (
    <section aria-label={area}>
      <h2>{area}</h2>
      {usual.length === 0 ? null : <KindLinks kinds={usual} />}
      {others.length === 0 ? null : (
        <details>
          <summary>{usual.length === 0 ? `${others.length} kinds` : `${others.length} more`}</summary>
          <KindLinks kinds={others} />
        </details>
      )}
    </section>
  );
}

function KindLinks({ kinds }: { readonly kinds: readonly Kind[] }): ReactNode {
  return (
    <ul>
      {kinds.map(({ id, kind, group, resource }) => (
        <li key={id}>
          <Link to="/objects/$kind" params={{ kind: id }} title={group === '' ? resource : id}>
            {kind}
          </Link>
        </li>
      ))}
    </ul>
  );
}

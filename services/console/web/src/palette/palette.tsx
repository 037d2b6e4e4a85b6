import { useQueries } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useId, useMemo, useState } from 'react';
import { allows } from '../api/access.ts';
import { collectionPath, type Kind } from '../api/kinds.ts';
import { useConsole, useRules } from '../shell/console-context.ts';
import { Dialog } from '../shell/dialog.tsx';
import { pagesFor } from '../shell/navigation.tsx';
import { parseQuery, type Query, type Verb, VERBS } from './query.ts';
import { rank } from './rank.ts';

/** The kinds whose objects are found without their kind's name. */
const SEARCHED: ReadonlySet<string> = new Set([
  'pods',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'services',
  'ingresses.networking.k8s.io',
  'configmaps',
  'nodes',
  'namespaces',
]);
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
/** Objects of a kind that are looked through. */
const MAX_OBJECTS = 5000;
const SHOWN = 50;

interface Item {
  readonly text: string;
  readonly title: string;
  readonly detail: string;
  open(): void;
}

interface ObjectName {
  readonly text: string;
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** Opens any view, any kind, any object and any action by a few letters. */
export function Palette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const id = useId();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const { kinds } = useConsole();
  const query = useMemo(() => parseQuery(text, kinds), [text, kinds]);
  // Enter opens what the whole text says, so nothing here is deferred.
  const items = useItems(query, text, onClose);
  const index = Math.min(active, items.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && items.length > 0) setActive((index + step + items.length) % items.length);
    else if (event.key === 'Enter') items[index]?.open();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to anything" onClose={onClose} className="palette">
      <input
        role="combobox"
        aria-label="Search"
        aria-expanded={items.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={items.length > 0 ? `${id}-${index}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder="web, pods web, logs web, scale deployment web …"
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul role="listbox" id={`${id}-list`} aria-label="Found">
        {items.map((item, position) => (
          <li
            key={item.text}
            id={`${id}-${position}`}
            role="option"
            aria-selected={position === index}
            ref={position === index ? (element) => element?.scrollIntoView({ block: 'nearest' }) : null}
            onClick={() => item.open()}
          >
            <span>{item.title}</span> <span className="muted">{item.detail}</span>
          </li>
        ))}
      </ul>
      {items.length === 0 ? <p className="muted">Nothing found.</p> : null}
    </Dialog>
  );
}

function useItems(query: Query, text: string, onClose: () => void): readonly Item[] {
  const { kinds } = useConsole();
  const navigate = useNavigate();
  const { ns = 'default' } = useSearch({ from: '__root__' });
  const rules = useRules(ns);
  const objects = useObjectNames(query.kind);
  return useMemo(() => {
    const go = (open: () => Promise<void>) => () => {
      onClose();
      void open();
    };
    const places: Item[] = [
      { text: 'cluster', title: 'Cluster', detail: 'view', open: go(() => navigate({ to: '/' })) },
    ];
    for (const { to, title } of pagesFor(rules))
      places.push({ text: title.toLowerCase(), title, detail: 'view', open: go(() => navigate({ to })) });
    for (const { id, group, resource, kind, shortNames } of kinds) {
      if (!allows(rules, { verb: 'list', group, resource })) continue;
      const open = go(() => navigate({ to: '/objects/$kind', params: { kind: id } }));
      places.push({ text: [kind, id, ...shortNames].join(' ').toLowerCase(), title: kind, detail: `all ${id}`, open });
    }
    const openObject = ({ kind, namespace, name }: ObjectName, search: Verb['search']) => {
      const params = { kind: kind.id, namespace: namespace || '-', name };
      return go(() => navigate({ to: '/objects/$kind/$namespace/$name', params, search }));
    };
    const found = query.rest === '' && query.kind === undefined ? [] : rank(query.rest, objects, SHOWN);
    const named = found.flatMap((object): readonly Item[] => {
      const verbs = query.verb === undefined ? VERBS.slice(0, 1) : [query.verb];
      return verbs
        .filter((verb) => verb.kinds?.includes(object.kind.id) !== false)
        .map(({ title, search }) => ({
          text: `${title} ${object.kind.id} ${object.namespace}/${object.name}`,
          title: title === 'Open' ? object.name : `${title} ${object.name}`,
          detail: [object.kind.kind, object.namespace].filter(Boolean).join(' in '),
          open: openObject(object, search),
        }));
    });
    const listed = query.verb === undefined ? rank(text, places, SHOWN) : [];
    return [...listed.slice(0, named.length > 0 ? 5 : SHOWN), ...named];
  }, [kinds, navigate, onClose, objects, query, rules, text]);
}

/** Names of the objects of usual kinds, or of one kind. */
function useObjectNames(only: Kind | undefined): readonly ObjectName[] {
  const { api, kinds } = useConsole();
  const { ns = '' } = useSearch({ from: '__root__' });
  const rules = useRules(ns || 'default');
  const searched = kinds.filter(
    ({ id, group, resource }) =>
      (only === undefined ? SEARCHED.has(id) : id === only.id) && allows(rules, { verb: 'list', group, resource }),
  );
  return useQueries({
    queries: searched.map((kind) => ({
      queryKey: ['names', kind.id, ns],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const path = `${collectionPath(kind, ns)}?limit=${MAX_OBJECTS}`;
        const { items = [] } = await api.json<{
          items?: readonly { metadata: { name?: string; namespace?: string } }[];
        }>(path, { accept: METADATA, signal });
        return items.map(
          ({ metadata: { name = '', namespace = '' } }): ObjectName => ({
            text: `${name} ${namespace}`,
            kind,
            namespace,
            name,
          }),
        );
      },
      staleTime: 20_000,
      retry: false,
    })),
    combine: (results) => results.flatMap(({ data = [] }) => data),
  });
}

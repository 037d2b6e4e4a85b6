import { useQueries } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useId, useMemo, useState } from 'react';
import { allows } from '../api/access.ts';
import { collectionPath, type Kind } from '../api/kinds.ts';
import { askedFor, isPossible, type Offer, PARTS, searchOf } from '../object/offers.ts';
import { useAllowedEach, useConsole, useRules } from '../shell/console-context.ts';
import { Dialog } from '../shell/dialog.tsx';
import { pagesFor } from '../shell/navigation.tsx';
import { Busy } from '../shell/notices.tsx';
import { parseQuery, type Query } from './query.ts';
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
  /** Unique among the items. */
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
  // What is chosen stays so when others come: Enter opens it, not what has taken its place.
  const [active, setActive] = useState<string>();
  const { kinds } = useConsole();
  const query = useMemo(() => parseQuery(text, kinds), [text, kinds]);
  // Enter opens what the whole text says, so nothing here is deferred.
  const { items, isLoading } = useItems(query, text, onClose);
  const index = Math.max(
    0,
    items.findIndex((item) => item.text === active),
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setActive(items[(index + step + items.length) % items.length]?.text);
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
          setActive(undefined);
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
      {items.length > 0 ? null : isLoading ? (
        <Busy what="what there is, and what you may do" />
      ) : (
        <p className="muted">Nothing found.</p>
      )}
    </Dialog>
  );
}

interface Found<Of> {
  readonly items: readonly Of[];
  readonly isLoading: boolean;
}

function useItems(query: Query, text: string, onClose: () => void): Found<Item> {
  const { kinds } = useConsole();
  const navigate = useNavigate();
  const { ns = 'default' } = useSearch({ from: '__root__' });
  const rules = useRules(ns);
  const places = useMemo(() => {
    const go = (open: () => Promise<void>) => () => {
      onClose();
      void open();
    };
    const all: Item[] = [
      { text: 'cluster nodes pods', title: 'Cluster', detail: 'view', open: go(() => navigate({ to: '/' })) },
    ];
    for (const { to, title, about } of pagesFor(rules))
      all.push({ text: `${title} ${about}`.toLowerCase(), title, detail: 'view', open: go(() => navigate({ to })) });
    for (const { id, group, resource, kind, shortNames } of kinds) {
      if (!allows(rules, { verb: 'list', group, resource })) continue;
      const open = go(() => navigate({ to: '/objects/$kind', params: { kind: id } }));
      all.push({ text: [kind, id, ...shortNames].join(' ').toLowerCase(), title: kind, detail: `all ${id}`, open });
    }
    return all;
  }, [kinds, navigate, onClose, rules]);
  const { offer = PARTS[0] } = query;
  const { items: objects, isLoading } = useOffered(query, offer);
  const named = objects.map((object): Item => {
    const { kind, namespace, name } = object;
    return {
      text: `${offer.id} ${kind.id} ${namespace}/${name}`,
      title: offer === PARTS[0] ? name : `${offer.phrase} ${name}`,
      detail: [kind.kind, namespace].filter(Boolean).join(' in '),
      open: () => {
        onClose();
        const params = { kind: kind.id, namespace: namespace || '-', name };
        void navigate({ to: '/objects/$kind/$namespace/$name', params, search: searchOf(offer) });
      },
    };
  });
  const listed = useMemo(() => (query.offer === undefined ? rank(text, places, SHOWN) : []), [places, query, text]);
  return { items: [...listed.slice(0, named.length > 0 ? 5 : SHOWN), ...named], isLoading };
}

/** The objects that the query names and for which the user has the offer. */
function useOffered({ kind, rest }: Query, offer: Offer): Found<ObjectName> {
  const { items: objects, isLoading } = useObjectNames(kind, offer);
  const isAsked = rest !== '' || kind !== undefined;
  const found = useMemo(() => (isAsked ? rank(rest, objects, SHOWN) : []), [isAsked, rest, objects]);
  const rightsFor = (object: ObjectName) => askedFor(offer, object.kind, object.namespace, object.name);
  const { may, isLoading: isAsking } = useAllowedEach(found.flatMap(rightsFor));
  return { items: found.filter((object) => rightsFor(object).every(may)), isLoading: isLoading || isAsking };
}

/** Names of the objects that have the offer: of one kind, or of the usual ones, or of all if these are not many. */
function useObjectNames(only: Kind | undefined, offer: Offer): Found<ObjectName> {
  const { api, kinds, at } = useConsole();
  const { ns = '' } = useSearch({ from: '__root__' });
  const rules = useRules(ns || 'default');
  const possible = kinds.filter((kind) => isPossible(offer, kind, at));
  const isFew = possible.length <= SEARCHED.size;
  const searched = possible.filter(
    ({ id, group, resource }) =>
      (only === undefined ? isFew || SEARCHED.has(id) : id === only.id) &&
      allows(rules, { verb: 'list', group, resource }),
  );
  const found = useQueries({
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
    combine: combineNames,
  });
  return { items: found.items, isLoading: found.isLoading || rules.isLoading === true };
}

function combineNames(
  results: readonly { readonly data: readonly ObjectName[] | undefined; readonly isPending: boolean }[],
): Found<ObjectName> {
  return {
    items: results.flatMap(({ data = [] }) => data),
    isLoading: results.some(({ isPending }) => isPending),
  };
}

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { useConsole } from './console-context.ts';

interface Names {
  readonly items?: readonly { readonly metadata: { readonly name?: string } }[];
}

/** Chooses the namespace of all pages. Those who may not list namespaces type its name. */
export function NamespacePicker(): ReactNode {
  const { api } = useConsole();
  const { ns = '' } = useSearch({ from: '__root__' });
  const navigate = useNavigate();
  const id = useId();
  const [text, setText] = useState(ns);
  useEffect(() => setText(ns), [ns]);
  const { data = [] } = useQuery({
    queryKey: ['namespaces'],
    queryFn: async ({ signal }) => {
      const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
      const { items = [] } = await api.json<Names>('/api/v1/namespaces', { accept, signal });
      return items.map(({ metadata }) => metadata.name ?? '');
    },
    staleTime: 15_000,
  });
  const choose = (namespace: string) => {
    const wanted = namespace.trim();
    if (wanted !== ns)
      void navigate({ to: '.', search: (old) => ({ ...old, ns: wanted === '' ? undefined : wanted }) });
  };
  const onKeyDown = ({ key, currentTarget }: KeyboardEvent<HTMLInputElement>) => {
    if (key === 'Enter') choose(currentTarget.value);
    if (key === 'Escape') setText(ns);
  };
  return (
    <span className="namespace">
      <label htmlFor={id} className="visually-hidden">
        Namespace
      </label>
      <input
        id={id}
        list={`${id}-names`}
        value={text}
        placeholder="All namespaces"
        autoComplete="off"
        spellCheck={false}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          if (data.includes(currentTarget.value)) choose(currentTarget.value);
        }}
        onBlur={({ currentTarget }) => choose(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <datalist id={`${id}-names`}>
        {data.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {ns === '' ? null : (
        <button type="button" className="quiet" aria-label="Show all namespaces" onClick={() => choose('')}>
          ×
        </button>
      )}
    </span>
  );
}

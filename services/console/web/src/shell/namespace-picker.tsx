import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useId } from 'react';
import { useConsole } from './console-context.ts';
import { DraftInput } from './draft-input.tsx';

interface Names {
  readonly items?: readonly { readonly metadata: { readonly name?: string } }[];
}

/** Chooses the namespace of all pages. Those who may not list namespaces type its name. */
export function NamespacePicker(): ReactNode {
  const { api } = useConsole();
  const { ns = '' } = useSearch({ from: '__root__' });
  const navigate = useNavigate();
  const id = useId();
  const { data = [] } = useQuery({
    queryKey: ['namespaces'],
    queryFn: async ({ signal }) => {
      const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
      const { items = [] } = await api.json<Names>('/api/v1/namespaces', { accept, signal });
      return items.map(({ metadata }) => metadata.name ?? '');
    },
    staleTime: 15_000,
  });
  const choose = (namespace: string) =>
    void navigate({ to: '.', search: (old) => ({ ...old, ns: namespace || undefined }) });
  return (
    <span className="namespace">
      <label htmlFor={id} className="visually-hidden">
        Namespace
      </label>
      <DraftInput
        id={id}
        list={`${id}-names`}
        value={ns}
        placeholder="All namespaces"
        onType={(text) => {
          if (data.includes(text)) choose(text);
        }}
        onFinish={choose}
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

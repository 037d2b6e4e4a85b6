import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { allows } from '../api/access.ts';
import { collectionPath, objectPath } from '../api/kinds.ts';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useConsole, useRules } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { type Dependent, dependentsOf } from './dependents.ts';

const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const PROPAGATION = { Background: 'background', Foreground: 'foreground', Orphan: 'orphan' } as const;
type Propagation = keyof typeof PROPAGATION;
/** More names than a person reads. */
const LISTED = 100;

const DEFINITIONS = 'customresourcedefinitions.apiextensions.k8s.io';
/** Whose objects have others in them: these go too, whoever owns them. */
const CONTAINERS: ReadonlySet<string> = new Set(['namespaces', DEFINITIONS]);

/**
 * What goes with an object: all of a namespace, all objects of a definition, or what it owns. Kinds that the user may not list are left out, but
 * not that of a definition: then the error says so.
 */
function useDependents({ kind, namespace, name, object }: TabProps) {
  const { api, kinds } = useConsole();
  const space = kind.id === 'namespaces' ? name : namespace;
  const rules = useRules(space === '' ? 'default' : space);
  const { uid = '' } = object.metadata;
  return useQuery({
    queryKey: ['dependents', uid, rules],
    enabled: rules.isLoading !== true,
    queryFn: async ({ signal }) => {
      const listed = kinds.filter(
        ({ id, group, resource, isNamespaced, verbs }) =>
          // What cannot be deleted, such as a measurement, does not go.
          verbs.includes('delete') &&
          (kind.id === DEFINITIONS
            ? id === name
            : (isNamespaced || space === '') &&
              resource !== 'events' &&
              allows(rules, { verb: 'list', group, resource })),
      );
      const list = async (of: (typeof listed)[number]): Promise<readonly Dependent[]> => {
        const { items = [] } = await api.json<{ items?: readonly Pick<Dependent, 'metadata'>[] }>(
          collectionPath(of, space),
          { accept: METADATA, signal },
        );
        return items.map(({ metadata }) => ({ kindId: of.id, kind: of.kind, metadata }));
      };
      const all = (await Promise.all(listed.map(list))).flat();
      return CONTAINERS.has(kind.id) ? all : dependentsOf(uid, all);
    },
  });
}

/** Asks before a deletion, and shows what goes too. */
export function DeleteDialog({ onClose, ...props }: TabProps & { readonly onClose: () => void }): ReactNode {
  const { kind, namespace, name, object } = props;
  const { api } = useConsole();
  const navigate = useNavigate();
  const router = useRouter();
  const { data, error } = useDependents(props);
  const [propagation, setPropagation] = useState<Propagation>('Background');
  const { run, isBusy, error: failure } = useRun();
  const remove = async () => {
    const { pathname } = router.state.location;
    // Its version does not matter: that of a workload changes with each of its pods.
    const body = { propagationPolicy: propagation, preconditions: { uid: object.metadata.uid } };
    await api.fetch(objectPath(kind, namespace, name), { method: 'DELETE', body });
    // Who has gone to another page meanwhile stays there.
    if (router.state.location.pathname === pathname)
      await navigate({ to: '/objects/$kind', params: { kind: kind.id } });
  };
  const isReading = data === undefined && error === null;
  const goes = propagation === 'Orphan' ? [] : (data ?? []);
  return (
    <Dialog title={`Delete ${kind.kind} ${name}?`} onClose={onClose}>
      <Kubectl command={kubectlOf('delete', kind, namespace, name, `--cascade=${PROPAGATION[propagation]}`)} />
      {CONTAINERS.has(kind.id) ? null : (
        <label>
          Objects that it owns{' '}
          <select
            value={propagation}
            onChange={({ currentTarget }) => setPropagation(currentTarget.value as Propagation)}
          >
            <option value="Background">are deleted after it</option>
            <option value="Foreground">are deleted before it</option>
            <option value="Orphan">stay</option>
          </select>
        </label>
      )}
      <section aria-live="polite">
        {error ? <Failure error={error} what="what it owns" /> : null}
        {isReading ? <Busy what="what it owns" /> : null}
        {data === undefined ? null : <Preview goes={goes} isOfCluster={namespace === '' && kind.id !== 'namespaces'} />}
      </section>
      <RunError error={failure} />
      <div className="buttons">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" className="danger" disabled={isBusy || isReading} onClick={() => run(remove)}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}

interface PreviewProps {
  readonly goes: readonly Dependent[];
  /** They may be in several namespaces. */
  readonly isOfCluster: boolean;
}

function Preview({ goes, isOfCluster }: PreviewProps): ReactNode {
  if (goes.length === 0) return <p>Nothing else goes with it.</p>;
  return (
    <>
      <p>
        {goes.length} {goes.length === 1 ? 'other object goes' : 'other objects go'} with it:
      </p>
      {/* It scrolls, with the keyboard, too. */}
      <ul className="preview" tabIndex={0}>
        {goes.slice(0, LISTED).map(({ kindId, kind, metadata }) => (
          <li key={`${kindId}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`}>
            <span className="muted">{kind}</span> {isOfCluster && metadata.namespace ? `${metadata.namespace}/` : ''}
            {metadata.name}
          </li>
        ))}
        {goes.length > LISTED ? <li className="muted">and {goes.length - LISTED} more</li> : null}
      </ul>
    </>
  );
}

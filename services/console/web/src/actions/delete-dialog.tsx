import { useNavigate, useRouter } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { objectPath } from '../api/kinds.ts';
import type { TabProps } from '../object/use-object.ts';
import { kubectlOf } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Busy, Failure, Kubectl } from '../shell/notices.tsx';
import { ScrollBox } from '../shell/scroll-box.tsx';
import { type Dependents, isContainer, READ_OF_KIND, useDependents } from './use-dependents.ts';

const PROPAGATION = { Background: 'background', Foreground: 'foreground', Orphan: 'orphan' } as const;
type Propagation = keyof typeof PROPAGATION;
/** More names than a person reads. */
const LISTED = 100;
/** What stays is known without a look at it. */
const NOTHING: Dependents = { all: [], cut: [], hidden: [] };

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
  const goes = propagation === 'Orphan' ? NOTHING : data;
  return (
    <Dialog title={`Delete ${kind.kind} ${name}?`} onClose={onClose}>
      <Kubectl command={kubectlOf('delete', kind, namespace, name, `--cascade=${PROPAGATION[propagation]}`)} />
      {isContainer(kind) ? null : (
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
        {goes === undefined ? null : <Preview goes={goes} isOfCluster={namespace === '' && kind.id !== 'namespaces'} />}
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
  readonly goes: Dependents;
  /** They may be in several namespaces. */
  readonly isOfCluster: boolean;
}

function Preview({ goes: { all, cut, hidden }, isOfCluster }: PreviewProps): ReactNode {
  const isWhole = cut.length === 0 && hidden.length === 0;
  return (
    <>
      {all.length === 0 ? (
        <p>{isWhole ? 'Nothing else goes with it.' : 'Of what was read, nothing else goes with it.'}</p>
      ) : (
        <p>
          {isWhole ? '' : 'At least '}
          {all.length} {all.length === 1 ? 'other object goes' : 'other objects go'} with it:
        </p>
      )}
      {all.length === 0 ? null : (
        <ScrollBox className="preview" label="What goes with it">
          <ul>
            {all.slice(0, LISTED).map(({ kindId, kind, metadata }) => (
              <li key={`${kindId}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`}>
                <span className="muted">{kind}</span>{' '}
                {isOfCluster && metadata.namespace ? `${metadata.namespace}/` : ''}
                {metadata.name}
              </li>
            ))}
            {all.length > LISTED ? <li className="muted">and {all.length - LISTED} more</li> : null}
          </ul>
        </ScrollBox>
      )}
      {cut.length === 0 ? null : (
        <p className="muted">
          Only the first {READ_OF_KIND} of these kinds were read, so more may go: {cut.join(', ')}.
        </p>
      )}
      {hidden.length === 0 ? null : <p className="muted">Without {hidden.join(', ')}, which you may not list.</p>}
    </>
  );
}

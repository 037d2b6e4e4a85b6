import { errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { Json, JsonObject } from '@gantry/objects';
import { type ReactNode, useMemo, useState } from 'react';
import { parse, stringify } from 'yaml';
import { objectPath } from '../api/kinds.ts';
import { applyConfiguration, MANAGER, removedFields } from '../editor/apply-configuration.ts';
import { DiffView } from '../editor/diff-view.tsx';
import { useSchema } from '../editor/use-schema.ts';
import { YamlEditor } from '../editor/yaml-editor.tsx';
import { useAllowed, useConsole } from '../shell/console-context.ts';
import { useRun } from '../shell/dialog.tsx';
import { Busy } from '../shell/notices.tsx';
import { masked } from './masked.ts';
import type { AnyObject, TabProps } from './use-object.ts';

/** `apply` becomes the manager of what was changed; `replace` also removes fields of others, if nobody has written meanwhile. */
type Way = 'apply' | 'replace';

/** An object as YAML. Values of Secrets are masked until asked for. */
export function YamlTab(props: TabProps): ReactNode {
  const { kind, namespace, name, object } = props;
  const { at } = useConsole();
  const { lookup, isLoading } = useSchema(kind);
  const [base, setBase] = useState(object);
  const isSecret = kind.id === 'secrets';
  const [isUnmasked, setIsUnmasked] = useState(false);
  const attempt = { verb: 'patch', group: kind.group, resource: kind.resource, name };
  const { may, isLoading: isAsking } = useAllowed(namespace, [attempt]);
  const mayWrite = may(attempt) && at === undefined;
  const isMasked = isSecret && !isUnmasked;
  const isOld = base.metadata.resourceVersion !== object.metadata.resourceVersion;
  // An editor is made once, for reading or for writing.
  if (isLoading || isAsking) return <Busy what="the schema" />;
  return (
    <>
      <div className="buttons">
        {isSecret ? (
          <button type="button" onClick={() => setIsUnmasked(!isUnmasked)}>
            {isMasked ? 'Show values' : 'Hide values'}
          </button>
        ) : null}
        {isOld ? (
          <span className="notice waiting" role="status">
            The object has changed since.{' '}
            <button type="button" onClick={() => setBase(object)}>
              Load it again
            </button>
          </span>
        ) : null}
      </div>
      <Editing
        key={`${base.metadata.resourceVersion ?? ''} ${String(isMasked)}`}
        {...props}
        object={isMasked ? masked(base) : base}
        lookup={lookup}
        isReadOnly={!mayWrite || isMasked}
      />
    </>
  );
}

/** What people write: without what the server maintains. */
function written(object: AnyObject): JsonObject {
  const { apiVersion, kind, metadata, status: _status, ...rest } = object;
  const { managedFields: _fields, uid: _uid, creationTimestamp: _time, generation: _generation, ...kept } = metadata;
  return { apiVersion, kind, metadata: kept, ...rest } as unknown as JsonObject;
}

/** A text that was sent, how, and what came of it. */
interface Attempted {
  readonly text: string;
  readonly way: Way;
  /** Whether fields of other managers are taken over: for this text alone. */
  readonly force: boolean;
  /** What a dry run returned. */
  readonly result?: string;
}

interface EditingProps extends TabProps {
  readonly lookup: ReturnType<typeof useSchema>['lookup'];
  readonly isReadOnly: boolean;
}

function Editing({ kind, namespace, name, object, lookup, isReadOnly }: EditingProps): ReactNode {
  const { api } = useConsole();
  const base = useMemo(() => written(object), [object]);
  const original = useMemo(() => stringify(base), [base]);
  const [text, setText] = useState(original);
  const [way, setWay] = useState<Way>('apply');
  const [tried, setTried] = useState<Attempted>();
  const { run, isBusy, error } = useRun();
  const send = async (isDryRun: boolean, force: boolean): Promise<AnyObject> => {
    const edited = parse(text) as JsonObject;
    const query = new URLSearchParams({ fieldManager: MANAGER, ...(isDryRun ? { dryRun: 'All' } : {}) });
    const path = objectPath(kind, namespace, name);
    if (way === 'replace') return api.json(`${path}?${query}`, { method: 'PUT', body: edited });
    if (force) query.set('force', 'true');
    const owned = object.metadata.managedFields?.find(
      ({ manager, operation }) => manager === MANAGER && operation === 'Apply',
    )?.fieldsV1;
    const body = applyConfiguration(base, edited, lookup, owned as never);
    return api.json(`${path}?${query}`, { method: 'PATCH', contentType: 'application/apply-patch+yaml', body });
  };
  const check = (force: boolean) =>
    run(async (signal) => {
      setTried({ text, way, force });
      const result = stringify(written(await send(true, force)));
      if (!signal.aborted) setTried({ text, way, force, result });
    });
  // What was answered about another text says nothing about this one.
  const isOfThis = tried?.text === text && tried.way === way;
  const result = isOfThis ? tried.result : undefined;
  const isConflict = error instanceof StatusError && error.reason === 'Conflict' && way === 'apply';
  return (
    <>
      <YamlEditor text={original} isReadOnly={isReadOnly} lookup={lookup} onChange={setText} />
      {isReadOnly ? null : (
        <div className="buttons">
          <select
            aria-label="How to write"
            value={way}
            onChange={({ currentTarget }) => setWay(currentTarget.value as Way)}
          >
            <option value="apply">Apply what was changed (server-side)</option>
            <option value="replace">Replace the whole object</option>
          </select>
          <button type="button" disabled={isBusy || text === original} onClick={() => check(false)}>
            Check with a dry run
          </button>
          <button
            type="button"
            className="primary"
            disabled={isBusy || result === undefined}
            onClick={() => run(async () => void (await send(false, tried?.force === true)))}
          >
            {way === 'apply' ? 'Apply' : 'Replace'}
          </button>
        </div>
      )}
      {error === undefined || !isOfThis ? null : (
        <WriteError error={error} isConflict={isConflict} isBusy={isBusy} onTakeOver={() => check(true)} />
      )}
      {result === undefined ? null : (
        <section aria-label="Result of the dry run">
          <h2>What would change</h2>
          {way === 'apply' ? <Kept base={base} text={text} result={result} /> : null}
          <DiffView before={original} after={result} />
        </section>
      )}
    </>
  );
}

/** Fields that were removed from the text, but that apply leaves because others manage them. */
function Kept({
  base,
  text,
  result,
}: {
  readonly base: JsonObject;
  readonly text: string;
  readonly result: string;
}): ReactNode {
  const gone = new Set(removedFields(base, parse(result) as Json));
  const kept = removedFields(base, parse(text) as Json).filter((path) => !gone.has(path));
  if (kept.length === 0) return null;
  return (
    <p className="notice waiting">
      You removed <code>{kept.join(', ')}</code>, but others manage it: apply leaves it as it is. “Replace the whole
      object” removes it.
    </p>
  );
}

interface WriteErrorProps {
  readonly error: unknown;
  readonly isConflict: boolean;
  readonly isBusy: boolean;
  readonly onTakeOver: () => void;
}

/** Why the server refused: for conflicts, who manages which field. */
function WriteError({ error, isConflict, isBusy, onTakeOver }: WriteErrorProps): ReactNode {
  const causes = error instanceof StatusError ? (error.details?.causes ?? []) : [];
  return (
    <div className="notice bad" role="alert">
      {isConflict ? (
        <>
          <strong>Others manage fields that you changed.</strong>
          <p>If you take them over, their next apply conflicts with you instead.</p>
        </>
      ) : (
        <strong>{errorMessage(error)}</strong>
      )}
      <ul>
        {causes.map(({ field, message }) => (
          <li key={`${field ?? ''} ${message ?? ''}`}>
            <code>{field}</code> {message}
          </li>
        ))}
      </ul>
      {isConflict ? (
        <button type="button" className="danger" disabled={isBusy} onClick={onTakeOver}>
          Take over these fields
        </button>
      ) : null}
    </div>
  );
}

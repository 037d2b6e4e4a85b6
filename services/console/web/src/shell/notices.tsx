import { StatusError } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';

/** Says what went wrong, in the server's words. */
export function Failure({ error, what }: { readonly error: unknown; readonly what: string }): ReactNode {
  const isRefusal = error instanceof StatusError && error.code === 403;
  return (
    <div className="notice bad" role="alert">
      <strong>{isRefusal ? `You may not see ${what}.` : `Cannot load ${what}.`}</strong>
      <p>{errorMessage(error)}</p>
    </div>
  );
}

export function NotFound(): ReactNode {
  return (
    <div className="page">
      <h1>There is no such page</h1>
      <p>
        <Link to="/">Back to the cluster</Link>
      </p>
    </div>
  );
}

/** Says of API versions that their server does not respond; nothing when there are none. */
export function Stale({ versions }: { readonly versions: readonly string[] }): ReactNode {
  return versions.length === 0 ? null : (
    <p className="notice bad" role="status">
      The server of {versions.join(', ')} does not respond: its kinds are missing, or shown as they were.
    </p>
  );
}

/** The page of a kind that discovery does not list. */
export function UnknownKind({ id, stale }: { readonly id: string; readonly stale: readonly string[] }): ReactNode {
  return (
    <div className="page">
      <h1>{id}</h1>
      <Stale versions={stale} />
      {stale.length > 0 ? null : <p>The server has no resource of this name, or none that can be listed.</p>}
    </div>
  );
}

/** A page that failed: a defect of the console. The rest of it goes on. */
export function PageFailure({ error }: { readonly error: unknown }): ReactNode {
  return (
    <div className="page">
      <Failure error={error} what="this page" />
      <p>
        <a href={location.href}>Load it again</a>
      </p>
    </div>
  );
}

/** The command that says the same, with a button that copies it. */
export function Kubectl({ command }: { readonly command: string }): ReactNode {
  const [copied, setCopied] = useState<string>();
  const copy = async () => {
    await navigator.clipboard.writeText(command);
    setCopied(command);
  };
  return (
    <p className="kubectl">
      <code>{command}</code>
      <button type="button" className="quiet" onClick={() => void copy()} aria-label="Copy the kubectl command">
        {copied === command ? 'copied' : 'copy'}
      </button>
    </p>
  );
}

/** `failure` is that of the last attempt; another one follows. */
export function Busy({ what, failure }: { readonly what: string; readonly failure?: unknown }): ReactNode {
  return (
    <p className="busy" role="status">
      Loading {what} … {failure ? `${errorMessage(failure)}; trying again` : ''}
    </p>
  );
}

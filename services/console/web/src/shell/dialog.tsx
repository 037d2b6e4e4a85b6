import { errorMessage } from '@gantry/base';
import { type ReactNode, useCallback, useId, useState } from 'react';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly className?: string;
}

/** A modal dialog; Escape closes it, and the browser keeps the focus in it. */
export function Dialog({ title, onClose, children, className }: DialogProps): ReactNode {
  const id = useId();
  const open = useCallback((element: HTMLDialogElement | null) => {
    if (element !== null && !element.open) element.showModal();
  }, []);
  return (
    <dialog ref={open} aria-labelledby={id} onClose={onClose} className={className}>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="quiet" onClick={onClose} aria-label="Close">
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface Run {
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Runs work, and reports its failure in `error`. */
  run(work: () => Promise<void>): void;
}

/** The state of work that a person has started. */
export function useRun(): Run {
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: undefined });
  const run = (work: () => Promise<void>) => {
    setState({ isBusy: true, error: undefined });
    work().then(
      () => setState({ isBusy: false, error: undefined }),
      (error: unknown) => setState({ isBusy: false, error }),
    );
  };
  return { ...state, run };
}

export function RunError({ error }: { readonly error: unknown }): ReactNode {
  return error === undefined ? null : (
    <p className="notice bad" role="alert">
      {errorMessage(error)}
    </p>
  );
}

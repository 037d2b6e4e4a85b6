import { errorMessage } from '@gantry/base';
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from 'react';

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
    if (element === null || element.open) return;
    element.showModal();
    // The browser gives the focus to the button that closes: what is typed belongs to the first field.
    element.querySelector<HTMLElement>('input, select, textarea')?.focus();
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
  /**
   * Runs work, and reports its failure in `error`. The signal is aborted when the person leaves what the work was started in, and when other
   * work is started there: then it must not close or open anything.
   */
  run(work: (signal: AbortSignal) => Promise<void>): void;
}

/** The state of work that a person has started. */
export function useRun(): Run {
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: undefined });
  const last = useRef<AbortController>(undefined);
  useEffect(() => () => last.current?.abort(), []);
  const run = (work: (signal: AbortSignal) => Promise<void>) => {
    last.current?.abort();
    const controller = new AbortController();
    last.current = controller;
    const end = (error: unknown) => {
      if (!controller.signal.aborted) setState({ isBusy: false, error });
    };
    setState({ isBusy: true, error: undefined });
    work(controller.signal).then(() => end(undefined), end);
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

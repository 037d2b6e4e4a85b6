import { createContext } from 'react';
import type { Api, Session } from '../api/http.ts';
import type { Kind } from '../api/kinds.ts';

/** A run of faults whose recorded history all pages show instead of the cluster. */
export interface RecordedRun {
  readonly name: string;
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly kinds: readonly Kind[];
  /** The version of its end. */
  readonly at: string;
  readonly apiFor: (session: Session) => Api;
}

/** The run that is shown, and how to show another one, or the cluster. */
export const RecordedRunContext = createContext<{
  readonly run: RecordedRun | undefined;
  readonly show: (run: RecordedRun | undefined) => void;
}>({ run: undefined, show: () => {} });

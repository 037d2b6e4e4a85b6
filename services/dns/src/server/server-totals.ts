import type { Clock } from '@gantry/base';
import { LoopLog, type LoopState } from '@gantry/controller-runtime';
import { CODES } from '../wire/query.ts';
import type { QuestionQueue } from './question-queue.ts';

/** Totals since the start. They are plain numbers, so that a packet needs no look-up of labels. */
export interface ServerTotals {
  udp: number;
  tcp: number;
  /** Over UDP, because the queue had no room. */
  dropped: number;
  unsent: number;
  /** By response code. */
  readonly codes: number[];
  /** The same as a control loop: a question is a reconcile, from its packet to its answer. */
  readonly loop: LoopLog;
}

export function createServerTotals(clock: Clock): ServerTotals {
  return { udp: 0, tcp: 0, dropped: 0, unsent: 0, codes: [], loop: new LoopLog(clock) };
}

/** Counts an answer that is sent now. A question has failed if the server could not find an answer to it. */
export function countAnswer(
  { totals: { codes, loop }, clock }: { readonly totals: ServerTotals; readonly clock: Clock },
  response: Buffer,
  receivedMs: number,
): void {
  const code = (response[3] ?? 0) & 0x0f;
  codes[code] = (codes[code] ?? 0) + 1;
  loop.count(code === CODES.serverFailure ? 'failed' : 'done', (clock.monotonicMs() - receivedMs) / 1000);
}

/** The questions of clients, as a control loop. */
export function questionLoop({ udp, tcp, loop }: ServerTotals, { size }: Pick<QuestionQueue, 'size'>): LoopState {
  const queue = { depth: size, adds: udp + tcp, retries: 0, unfinishedSeconds: 0, longestSeconds: 0 };
  return loop.state({ name: 'questions', ...queue });
}

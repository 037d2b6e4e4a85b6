import { type Clock, pause } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import type { ChaosEngine } from '../engine.ts';
import type { Cell } from './cells.ts';

/** What a trial works with. */
export interface ActContext {
  readonly connect: () => HttpClient;
  readonly engine: ChaosEngine;
  readonly clock: Clock;
  readonly namespace: string;
  readonly cell: Cell;
  /** Unique for the trial. */
  readonly name: string;
  /** The name of an image with Node.js, for pods that serve. */
  readonly podImage: () => Promise<string>;
  /** Where Ingresses are served to this machine over HTTP. */
  readonly ingressPort: number;
  /** The node of the agent that is struck; '' for other components. */
  readonly node: string;
}

/** A client that looks for the first useful act after a fault. Times are Unix milliseconds. */
export interface Watching {
  /** When the client saw the first act that was asked for after the fault. Rejects when `signal` is aborted. */
  seen(struckAt: number, signal: AbortSignal): Promise<number>;
  /** Removes what it made. Call it when the fault is healed. */
  end(): Promise<void>;
}

/** For what an act needs, before the fault. */
export const READY_MS = 120_000;
/** Longer than the cluster needs to lead a client elsewhere: a client that gives up earlier would hide how long that takes. */
const REQUEST_MS = 30_000;

/** The time limit of one request to the API. */
export const within = (): AbortSignal => AbortSignal.timeout(REQUEST_MS);

/** Rejects when `signal` is aborted. */
export async function untilFound<T>(clock: Clock, signal: AbortSignal, find: () => T | undefined): Promise<T> {
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    signal.throwIfAborted();
    await pause(clock, 10, signal);
  }
}

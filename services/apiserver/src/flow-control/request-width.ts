import { StatusError } from '@gantry/objects';
import type { FlowController } from './flow-controller.ts';
import type { FlowRequest } from './flow-schemas.ts';
import { RejectedError, type Seats } from './priority-level.ts';

/** Kubernetes' estimate: a seat for every hundred objects of a list, at most ten. */
const OBJECTS_PER_SEAT = 100;
const MAX_SEATS = 10;

/** The seats of a list: of all objects of its kind, or of one page when nothing is filtered. */
export function widthOfList(stored: number, limit: number, isFiltered: boolean): number {
  return widthOf(limit > 0 && !isFiltered ? Math.min(limit, stored) : stored);
}

/** The seats of work on so many objects. */
export function widthOf(objects: number): number {
  return Math.min(MAX_SEATS, Math.max(1, Math.ceil(objects / OBJECTS_PER_SEAT)));
}

/** Seats for a call of a service; a refusal is TooManyRequests. */
export async function admitCall(
  control: FlowController,
  request: FlowRequest,
  width: number,
  signal: AbortSignal,
): Promise<Seats> {
  try {
    return await control.admit(control.classify(request), request, width, signal);
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error;
    throw new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
      details: { retryAfterSeconds: 1 },
    });
  }
}

import { StatusError } from '@gantry/objects';
import { DeadlineError } from '@gantry/base';
import { StoreError } from './object-store.ts';

/** Converts an error of the store to a StatusError. Returns other errors unchanged. */
export function toStatusError(error: unknown): unknown {
  if (error instanceof DeadlineError) return StatusError.timeout('the request did not end within its deadline');
  if (!(error instanceof StoreError)) return error;
  switch (error.code) {
    case 'unavailable':
      return StatusError.unavailable(`the store cannot be reached: ${error.message}`);
    case 'outcome-unknown':
      return StatusError.timeout(`the outcome of the write is not known: ${error.message}`);
    case 'compacted':
      return StatusError.expired('The resourceVersion for the provided list is too old.');
    case 'too-large':
      return new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`);
    case 'no-space':
      return StatusError.unavailable(`the store has no space left: ${error.message}`);
  }
}

/** Settles like `work`, with errors of the store converted to StatusErrors. */
export async function fromStore<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toStatusError(error);
  }
}

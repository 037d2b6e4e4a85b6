import { isReason } from '@gantry/api';

/** Settles as `work` does, but takes it for done when the object was not there any more. */
export async function ignoreNotFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

import { type KubeObject, StatusError } from '@gantry/objects';
import type { WriteResult } from './object-client.ts';

/**
 * Converts the outcome of a write to a batch result. Rejects with any error that is not a StatusError: that is an error of the caller, not
 * of the write.
 */
export async function writeResult(write: Promise<KubeObject>): Promise<WriteResult> {
  try {
    return { ok: true, object: await write };
  } catch (error) {
    if (error instanceof StatusError) return { ok: false, status: error.toStatus() };
    throw error;
  }
}

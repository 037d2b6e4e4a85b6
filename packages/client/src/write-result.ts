import { type KubeObject, StatusError } from '@gantry/objects';
import type { WriteResult } from './object-client.ts';

/** The outcome of a write as one of a batch. Rejects with what is not a StatusError: then the caller has failed, not the write. */
export async function writeResult(write: Promise<KubeObject>): Promise<WriteResult> {
  try {
    return { ok: true, object: await write };
  } catch (error) {
    if (error instanceof StatusError) return { ok: false, status: error.toStatus() };
    throw error;
  }
}

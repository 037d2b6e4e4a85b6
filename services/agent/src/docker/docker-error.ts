import { errorMessage } from '@gantry/base';
import { AgentError, type AgentErrorCode } from '../runtime/agent-error.ts';

/** The HTTP status and message of a failed engine call; status 0 when the engine could not be reached. */
export function describeDockerError(error: unknown): { status: number; message: string } {
  if (error === null || typeof error !== 'object') return { status: 0, message: String(error) };
  const { statusCode, json } = error as { statusCode?: unknown; json?: unknown };
  const answered = json !== null && typeof json === 'object' ? (json as { message?: unknown }).message : undefined;
  return {
    status: typeof statusCode === 'number' ? statusCode : 0,
    // Remove the client library's prefix, which contains no information.
    message: typeof answered === 'string' ? answered : errorMessage(error).replace(/^\(HTTP code \d+\) [a-z ]*- /, ''),
  };
}

/** Converts a failure of the engine. `code` is used for failures without a specific code. */
export function fromDocker(error: unknown, code: AgentErrorCode): AgentError {
  if (error instanceof AgentError) return error;
  const { status, message } = describeDockerError(error);
  if (/address already in use/i.test(message)) return new AgentError('AddressInUse', message, { cause: error });
  if (status === 409 && /is already in use by container/.test(message)) {
    return new AgentError('Conflict', message, { cause: error });
  }
  if (status === 404 && /no such image/i.test(message))
    return new AgentError('ImageNotFound', message, { cause: error });
  if (status === 404 && code === 'Runtime') return new AgentError('NotFound', message, { cause: error });
  return new AgentError(code, message, { cause: error });
}

/**
 * Runs an engine call. A missing object (404) and an object that is already in the wanted state (304, or 409 during a removal) are not
 * errors.
 */
export async function idempotent(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    const { status, message } = describeDockerError(error);
    if (status === 404 || status === 304) return;
    if (status === 409 && /removal of container .* is already in progress|is not running/i.test(message)) return;
    throw fromDocker(error, 'Runtime');
  }
}

import { type Clock, errorMessage, sleep } from '@gantry/base';
import type { HTTPGetAction, LifecycleHandler } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { httpTargetOf, requestHook } from './probe-types/http-request.ts';
import type { ProbeContext } from './probe-types/probe-type.ts';

/** A container with a hook, and the runtime for reaching it. */
export interface HookTarget extends ProbeContext {
  /** `NAME_NAMESPACE(UID)` of its pod, for messages. */
  readonly pod: string;
}

/**
 * Runs a lifecycle hook to its end, like the kubelet: a command must succeed, and an HTTP request must get a response with any status.
 * TCP hooks are not supported. AgentError 'PostStartHookError' with the kubelet's message.
 */
export async function runHook(
  handler: LifecycleHandler,
  target: HookTarget,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const of = `for Container ${JSON.stringify(target.container.name)} in Pod ${JSON.stringify(target.pod)} failed - error:`;
  if (handler.exec !== undefined) {
    const { command = [] } = handler.exec;
    const { exitCode, output } = await target.containers.exec(target.containerId, command, signal).catch((error) => {
      signal.throwIfAborted();
      return { exitCode: -1, output: errorMessage(error) };
    });
    if (exitCode === 0) return;
    const why = `command '${command.join(' ')}' exited with ${exitCode}: ${output}, message: ${JSON.stringify(output)}`;
    throw failed(`Exec lifecycle hook ([${command.join(' ')}]) ${of} ${why}`);
  }
  if (handler.httpGet !== undefined) {
    await request(handler.httpGet, target, signal).catch((error) => {
      signal.throwIfAborted();
      throw failed(`HTTP lifecycle hook (${handler.httpGet?.path ?? ''}) ${of} ${errorMessage(error)}`);
    });
    return;
  }
  if (handler.sleep !== undefined) {
    await sleep(clock, handler.sleep.seconds * 1000, signal);
    return;
  }
  throw failed(`Cannot run handler: invalid handler: ${JSON.stringify(handler)}`);
}

/** If a server responds to HTTPS with plain HTTP, the request is repeated over HTTP without credentials. */
async function request(action: HTTPGetAction, target: HookTarget, signal: AbortSignal): Promise<void> {
  try {
    await requestHook(httpTargetOf(action, target), action, target, signal);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (action.scheme !== 'HTTPS' || !PLAIN_HTTP.has(code)) throw error;
    const httpHeaders = (action.httpHeaders ?? []).filter(({ name }) => name.toLowerCase() !== 'authorization');
    const plain = { ...action, scheme: 'HTTP', httpHeaders };
    await requestHook(httpTargetOf(plain, target), plain, target, signal);
  }
}

/** Errors of a TLS handshake with a plain HTTP server. */
const PLAIN_HTTP: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'EPROTO',
]);

function failed(message: string): AgentError {
  return new AgentError('PostStartHookError', message);
}

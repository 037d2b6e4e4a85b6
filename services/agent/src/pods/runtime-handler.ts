import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import { type Pod, RUNTIME_CLASSES } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { EngineInfo } from '../runtime/engine.ts';

/**
 * The low-level runtime that a pod's RuntimeClass asks for; undefined without a class. AgentError 'Runtime' when the class does not
 * exist or the engine has no such runtime: a pod that asks for a stronger sandbox must not run in an ordinary one.
 */
export async function runtimeHandler(
  { spec }: Pod,
  { client, engine }: { readonly client: ObjectClient; readonly engine: Pick<EngineInfo, 'runtimes'> },
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = spec?.runtimeClassName ?? '';
  if (name === '') return undefined;
  const found = await ignoreNotFound(client.get(RUNTIME_CLASSES, { namespace: '', name }, signal));
  if (found === undefined) throw new AgentError('Runtime', `RuntimeClass ${JSON.stringify(name)} not found`);
  if (engine.runtimes.includes(found.handler)) return found.handler;
  const handler = JSON.stringify(found.handler);
  throw new AgentError('Runtime', `failed to get sandbox runtime: no runtime for ${handler} is configured`);
}

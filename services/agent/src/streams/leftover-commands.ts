import { errorMessage } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Kills commands of probes and streams whose clients were lost with an earlier process of this agent. Never fails. */
export async function killLeftoverCommands(
  runtime: Runtime,
  owner: Owner,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    const pods = await runtime.observer.listPods(owner, signal);
    for (const { id, state } of pods.flatMap(({ containers }) => containers)) {
      if (state === 'running') await killIn(runtime, id, logger, signal);
    }
  } catch (error) {
    if (!signal.aborted) logger.warn({ reason: errorMessage(error) }, 'cannot look for commands of an earlier agent');
  }
}

async function killIn(runtime: Runtime, id: string, logger: Logger, signal: AbortSignal): Promise<void> {
  try {
    await runtime.streams.killLeftovers(id, signal);
  } catch (error) {
    signal.throwIfAborted();
    // The container may have ended meanwhile, together with its commands.
    logger.debug({ container: id, reason: errorMessage(error) }, 'cannot look for commands of an earlier agent');
  }
}

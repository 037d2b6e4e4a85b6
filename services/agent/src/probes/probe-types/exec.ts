import { DeadlineError, errorMessage } from '@gantry/base';
import { expand } from '../../spec/expand.ts';
import { defineProbeType, failure, type ProbeOutcome, SUCCESS } from './probe-type.ts';

/** Runs a command in the container: exit code 0 is success. */
export const execProbe = defineProbeType('exec', async (action, { container, containers, containerId }, signal) => {
  const literals = new Map((container.env ?? []).map(({ name, value = '' }) => [name, value]));
  const command = (action.command ?? []).map((text) => expand(text, literals));
  const outcome = await containers.exec(containerId, command, signal).then(
    ({ exitCode, output }): ProbeOutcome => (exitCode === 0 ? SUCCESS : failure(output)),
    (error: unknown) => failure(errorMessage(error)),
  );
  if (outcome.kind === 'failure' && signal.reason instanceof DeadlineError) {
    return failure(`command ${JSON.stringify(command.join(' '))} timed out`);
  }
  return outcome;
});

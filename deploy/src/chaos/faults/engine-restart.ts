import { pause } from '@gantry/base';
import { CommandError } from '../../machine/command-error.ts';
import type { FaultKind, Scene } from '../fault.ts';

/** What the command may take, and how long the end of the engine is waited for after it. */
const COMMAND_MS = 120_000;
const NOTICE_MS = 5_000;

/** The fault that every container of the engine suffers. A campaign has it only with `--engine-restart COMMAND`. */
export const ENGINE_FAULTS: readonly FaultKind[] = [engineRestart('false')];

/** Why there is no such fault without the user's consent. */
export const NO_CONSENT =
  'it stops every container of the Docker Engine, also those that are not of this cluster. Allow it with the command that restarts the engine, as --engine-restart "sudo systemctl restart docker"';

/** A fault that runs the command by which the user restarts the engine. */
export function engineRestart(command: string): FaultKind {
  return {
    kind: 'engine-restart',
    what: 'The Docker Engine is restarted under all containers, by the command that `--engine-restart` gives. Without that option, it is never made.',
    targets: ['cluster'],
    durationMs: [0, 0],
    weight: 1,
    company: 'alone',
    strike: (scene) => restart(scene, command),
  };
}

/** Acts from the moment at which the engine ends its stream of events. The steps that undo it wait until it responds again. */
async function restart({ engine, undoLater }: Scene, command: string): Promise<string> {
  const { clock, shell } = engine.options;
  const services = (await engine.services()).filter(({ state }) => state === 'running');
  const others = await engine.countOthers();
  await undoLater([...services.map(({ id }) => ({ undo: 'start', container: id }) as const), { undo: 'await-engine' }]);
  const stop = new AbortController();
  // The engine sends no event of this type now: the stream ends with the engine, or when its time is over.
  const limit = { timeoutMs: COMMAND_MS + NOTICE_MS };
  const stopped = shell.run('docker', ['events', '--filter', 'type=daemon'], limit);
  const commanded = shell.run('sh', ['-c', command], { timeoutMs: COMMAND_MS }).then(async ({ code, stderr }) => {
    if (code !== 0) throw new CommandError(`--engine-restart: ${command} failed (${code}): ${stderr.trim()}`);
    await pause(clock, NOTICE_MS, stop.signal);
    throw new CommandError(`--engine-restart: ${command} has not restarted the engine`);
  });
  try {
    await Promise.race([stopped, commanded]);
  } finally {
    stop.abort();
    // A command that fails after the engine has stopped: healing reports an engine that does not respond.
    commanded.catch(() => undefined);
  }
  return `the engine stops; ${others} of the containers that ran are not this cluster's`;
}

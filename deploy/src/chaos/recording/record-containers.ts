import { errorMessage } from '@gantry/base';
import type { ChaosEngine } from '../engine.ts';
import type { RunFolder } from './run-folder.ts';

/** Some minutes of a busy service. */
const LINES = 2_000;
const STATE =
  '{{json .State}} restarts {{.RestartCount}} memory {{.HostConfig.Memory}} cpu {{.HostConfig.CpuQuota}} networks {{json .NetworkSettings.Networks}}';

/**
 * What the cluster's containers say of themselves: a file for each, with its state as the engine has it, to which the last health checks
 * belong, and the end of its log.
 */
export async function recordContainers(engine: ChaosEngine, folder: Pick<RunFolder, 'text'>): Promise<void> {
  const { shell } = engine.options;
  const said = async (args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await shell.run('docker', args);
    return [stdout, stderr].filter((text) => text !== '').join('\n');
  };
  try {
    for (const { id, name } of await engine.services()) {
      const state = await said(['inspect', '-f', STATE, id]);
      const log = await said(['logs', '--timestamps', '--tail', String(LINES), id]);
      folder.text(`containers/${name}.txt`, `${state}\n${log}`);
    }
  } catch (error) {
    // An engine that does not respond is what is wrong, and no reason to lose the rest of the run.
    folder.text('containers/error.txt', errorMessage(error));
  }
}

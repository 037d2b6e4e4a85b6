import { realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { errorMessage } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import { readRegularFile } from '../files/if-there.ts';

const MAX_BYTES = 2 ** 20;

/** Seccomp profiles for `type: Localhost`, which an administrator has put into a folder of the node; by path in the folder. */
export class SeccompProfiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The profile's JSON text. AgentError 'CreateContainerError' for a file that does not exist, is not JSON, or is not in the folder. */
  async read(name: string): Promise<string> {
    try {
      if (name === '' || isAbsolute(name) || name.split('/').includes('..'))
        throw new AgentError('CreateContainerError', 'not a path in the folder');
      const root = await realpath(this.#folder);
      const path = await realpath(join(root, name));
      if (!path.startsWith(root + sep)) throw new AgentError('CreateContainerError', 'not a path in the folder');
      const found = await readRegularFile(path, MAX_BYTES);
      if (found === 'other') throw new AgentError('CreateContainerError', 'not a file');
      if (found === 'too-large') throw new AgentError('CreateContainerError', `larger than ${MAX_BYTES} bytes`);
      const text = found.toString();
      JSON.parse(text);
      return text;
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : errorMessage(error);
      const message = `cannot load seccomp profile ${JSON.stringify(name)}: ${reason}`;
      throw new AgentError('CreateContainerError', message, { cause: error });
    }
  }
}

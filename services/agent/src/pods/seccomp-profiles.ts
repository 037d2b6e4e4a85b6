import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { errorMessage } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

const MAX_BYTES = 2 ** 20;

/** Seccomp profiles that an administrator has put into a folder of the node, by their paths in it (`type: Localhost`). */
export class SeccompProfiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The profile's JSON text. AgentError 'CreateContainerError' for one that does not exist, is no JSON, or is not in the folder. */
  async read(name: string): Promise<string> {
    try {
      if (name === '' || isAbsolute(name) || name.split('/').includes('..'))
        throw new AgentError('CreateContainerError', 'not a path in the folder');
      const root = await realpath(this.#folder);
      const path = await realpath(join(root, name));
      if (!path.startsWith(root + sep)) throw new AgentError('CreateContainerError', 'not a path in the folder');
      const text = await readBounded(path);
      JSON.parse(text);
      return text;
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : errorMessage(error);
      const message = `cannot load seccomp profile ${JSON.stringify(name)}: ${reason}`;
      throw new AgentError('CreateContainerError', message, { cause: error });
    }
  }
}

async function readBounded(path: string): Promise<string> {
  // A named pipe would block until there is a writer.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile()) throw new AgentError('CreateContainerError', 'not a file');
  if (stats.size > MAX_BYTES) throw new AgentError('CreateContainerError', `larger than ${MAX_BYTES} bytes`);
  return await file.readFile('utf8');
}

import { execFile } from 'node:child_process';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MIB = 2 ** 20;

/** Block devices from files, with losetup(8). They are removed when this is disposed. Needs root. */
export class LoopDevices implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();

  /** Creates a device that begins with `text`, and returns its path. */
  async make(text = '', sizeBytes = MIB): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'gantry-device-'));
    this.#stack.defer(() => rm(folder, { recursive: true }));
    const file = join(folder, 'file');
    await writeFile(file, text);
    await truncate(file, sizeBytes);
    const { stdout } = await run('losetup', ['--find', '--show', file]);
    const device = stdout.trim();
    this.#stack.defer(async () => void (await run('losetup', ['--detach', device])));
    return device;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../../..');
const run = promisify(execFile);

it('real mounts keep their contract, in a container that may do no more than an agent', async () => {
  const node = process.execPath;
  const { stdout, stderr } = await run('docker', [
    'run',
    '--rm',
    '--label=gantry.test=mounts',
    '--network=none',
    '--read-only',
    '--cap-drop=ALL',
    '--cap-add=SYS_ADMIN',
    '--security-opt=no-new-privileges:true',
    '--security-opt=apparmor=unconfined',
    '--tmpfs=/state',
    `--volume=${ROOT}:${ROOT}:ro`,
    `--volume=${node}:${node}:ro`,
    'debian:trixie-slim',
    node,
    '--conditions=gantry-source',
    `${ROOT}/services/agent/src/mounts/testing/exercise.ts`,
    '/state',
  ]);
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
});

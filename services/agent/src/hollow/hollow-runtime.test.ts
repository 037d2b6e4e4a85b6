import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@gantry/base';
import type { DeviceSpec } from '../runtime/containers.ts';
import { DEVICE_SCRIPT, DEVICE_TEXT } from '../runtime/testing/devices-contract.ts';
import { describeRuntime } from '../runtime/testing/runtime-contract.ts';
import { HollowRuntime } from './hollow-runtime.ts';
import { SCRIPT_BEHAVIOUR } from './testing/programs.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };

describeRuntime('hollow runtime', async () => {
  const runtime = new HollowRuntime({
    clock: systemClock,
    images: { pause: IMAGE, shell: IMAGE },
    registry: {
      'gantry.test/contract:1': { ...IMAGE, id: 'sha256:2' },
      'gantry.test/contract:2': { ...IMAGE, id: 'sha256:3' },
    },
    behaviour: {
      output: ({ command = [], devices }) => {
        const script = command[2] ?? '';
        if (script === DEVICE_SCRIPT) return deviceOutput(devices);
        if (script.startsWith('echo one')) return 'one\ntwo\nthree\n';
        return script.includes('echo $GREETING') ? 'hello\n' : '';
      },
      imageFiles: (): Record<string, string> => ({ '/file': 'text' }),
      usage: () => ({ cpuMillis: 1000, memoryBytes: 2 ** 20 }),
      ...SCRIPT_BEHAVIOUR,
    },
  });
  const base = await mkdtemp(join(tmpdir(), 'gantry-hollow-'));
  return {
    runtime,
    makeFolder: () => mkdtemp(join(base, 'folder-')),
    makeDevice: async () => '/dev/made',
    makeImage: (name) => runtime.images.pullImage(name, 'anonymous', new AbortController().signal),
    nameServer: 'network',
    cluster: 'contract',
    network: 'pods',
    addresses: ['10.0.0.2', '10.0.0.3'],
    sandboxImage: 'pause',
    image: 'shell',
    imageFile: ['/file', 'text'],
    pause: async (id) => runtime.pause(id),
    kill: async (id) => runtime.exit(id, 137),
    processes: async (id) => ['main', ...runtime.streams.commands(id).map((command) => command.join(' '))],
    eventually: async (check) => {
      while (!(await check())) await new Promise((resolve) => setImmediate(resolve));
    },
    [Symbol.asyncDispose]: () => rm(base, { recursive: true }),
  };
});

/** The same output as the script of the contract of devices. */
function deviceOutput(devices: readonly DeviceSpec[]): string {
  const given = devices.find(
    ({ hostPath, containerPath }) => hostPath === '/dev/made' && containerPath === '/dev/given',
  );
  if (given === undefined) return '';
  return `${DEVICE_TEXT}${given.access === 'read-write' ? 'written' : 'refused'}\n`;
}

import { expect, it } from 'vitest';
import type { ContainerSecurity, DeviceSpec } from '../containers.ts';
import type { Runtime } from '../runtime.ts';
import type { ContainerChange } from './plain-specs.ts';

/** The parts of a runtime under test that the contract of devices needs. */
interface DevicesUnderTest {
  readonly runtime: () => Runtime;
  readonly eventually: (check: () => Promise<boolean>) => Promise<void>;
  /** Creates a block device that begins with `DEVICE_TEXT`, and returns its path on the host. */
  readonly makeDevice: () => Promise<string>;
  readonly run: (script: string, change: ContainerChange) => Promise<{ readonly id: string }>;
}

export const DEVICE_TEXT = 'text of the device\n';

/** Shows the content of the device, and whether it can be written to. */
export const DEVICE_SCRIPT = `head -n 1 /dev/given; if (echo new > /dev/given); then echo written; else echo refused; fi`;

const signal = new AbortController().signal;

/** The contract of block devices. */
export function describeDevices({ runtime, eventually, makeDevice, run }: DevicesUnderTest): void {
  it.each<[DeviceSpec['access'], ContainerSecurity['privilege'], string]>([
    ['read-write', 'ordinary', 'written'],
    ['read-only', 'ordinary', 'refused'],
    ['read-write', 'privileged', 'written'],
  ])('gives a container a block device at its path: %s, %s', async (access, privilege, result) => {
    const hostPath = await makeDevice();
    const devices = [{ hostPath, containerPath: '/dev/given', access }];
    const { id } = await run(DEVICE_SCRIPT, { devices, security: { privilege } });
    const output = async () => {
      const parts: Uint8Array[] = [];
      for await (const part of runtime().logs.readLogs(id, { follow: false, timestamps: false }, signal))
        parts.push(part);
      return Buffer.concat(parts).toString();
    };
    await eventually(async () => (await output()).includes(result));
    expect(await output()).toContain(DEVICE_TEXT);
  });
}

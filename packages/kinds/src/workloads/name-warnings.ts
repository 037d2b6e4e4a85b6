import { dns1123Label } from '@gantry/objects';

/** Warnings about names that cannot be the hostname of every pod. */
export function surprisingName(name: string): string[] {
  const faults = dns1123Label(name);
  return faults.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`,
      ];
}

import { copyFileSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '@gantry/base';
import { CommandError } from '../../machine/command-error.ts';
import type { FaultKind, Scene } from '../fault.ts';

const HOUR_S = 3600;
const STARTS_MS = 60_000;
const LOOK_EVERY_MS = 500;
/** The library reads its file again after so long. */
const CACHE_S = 1;
const FOLDER = '/faketime';

/** The library that Debian's `faketime` has (`deploy/bin/ensure-faketime`); undefined where it is missing. */
export const findFakeTime = (): string | undefined => globSync('/usr/lib/*/faketime/libfaketime.so.1')[0];

/** Those that need libfaketime on the engine's host. The kernel has no clock of the date for one container. */
export const CLOCK_FAULTS: readonly FaultKind[] = [
  {
    kind: 'clock-jump',
    what: "The clock of a service's containers jumps by an hour, forth or back, while they run; their monotonic clock goes on (libfaketime).",
    targets: ['scheduler', 'controller-manager', 'apiserver', 'dns'],
    durationMs: [10_000, 25_000],
    weight: 1,
    strike: jump,
  },
];

/** The containers are replaced by ones with the library, whose file then changes; and by ordinary ones in the end. */
async function jump({ engine, fault, random, folder, compose, undoLater }: Scene): Promise<string> {
  const library = findFakeTime();
  if (library === undefined) throw new CommandError('libfaketime is missing', 'sh deploy/bin/ensure-faketime');
  const service = fault.target;
  const shared = join(folder, 'faketime');
  mkdirSync(shared, { recursive: true });
  copyFileSync(library, join(shared, 'libfaketime.so.1'));
  const setOffset = (seconds: number) => writeFileSync(join(shared, 'offset'), `${seconds < 0 ? '' : '+'}${seconds}\n`);
  setOffset(0);
  const environment = {
    LD_PRELOAD: `${FOLDER}/libfaketime.so.1`,
    FAKETIME_TIMESTAMP_FILE: `${FOLDER}/offset`,
    FAKETIME_CACHE_DURATION: String(CACHE_S),
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const overlay = join(shared, 'overlay.json');
  writeFileSync(
    overlay,
    JSON.stringify({ services: { [service]: { environment, volumes: [`${shared}:${FOLDER}:ro`] } } }),
  );
  const recreate = ['up', '-d', '--no-build', '--no-deps', '--force-recreate', service];
  await undoLater([{ undo: 'compose', args: recreate }]);
  await compose(['-f', overlay, ...recreate]);
  const seconds = random() < 0.5 ? HOUR_S : -HOUR_S;
  const jumped = async () => {
    const { id } = await engine.one(`${service}/1`, random);
    const { code, stdout } = await engine.options.shell.run('docker', ['exec', id, 'node', '-p', 'Date.now()']);
    return code === 0 && Math.abs(Number(stdout) - engine.options.clock.now() - seconds * 1000) < 60_000;
  };
  // At their start, the processes read the true time.
  await pause(engine.options.clock, 2_000, new AbortController().signal);
  setOffset(seconds);
  for (const since = engine.options.clock.monotonicMs(); !(await jumped()); ) {
    if (engine.options.clock.monotonicMs() - since > STARTS_MS)
      throw new CommandError(`the clock of ${service} does not jump`);
    await pause(engine.options.clock, LOOK_EVERY_MS, new AbortController().signal);
  }
  return `the clock of ${service} is ${seconds / HOUR_S} h ahead`;
}

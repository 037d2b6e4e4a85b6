import { type Clock, errorMessage, formatTime, pause } from '@gantry/base';
import { ignoreNotFound, type ObjectWriter } from '@gantry/client';
import type { FaultKind } from '../fault.ts';
import type { Choices } from '../options.ts';
import { CHAOS_SERVICES, type ChaosService } from './kinds.ts';

const KEY = { namespace: '', name: 'cluster' };
const HEARTBEAT_MS = 10_000;
const WRITE_MS = 10_000;

/** What ChaosRuns may ask for. */
export function offerOf({ kinds, impossible, workloads }: Choices): NonNullable<ChaosService['status']> {
  return {
    faults: kinds.map(describeKind),
    impossible: [...impossible].map(([name, why]) => ({ name, why })),
    workloads: workloads.map(({ name, what }) => ({ name, what })),
  };
}

function describeKind({ kind, what, targets, peersOf }: FaultKind) {
  return {
    name: kind,
    what,
    targets: targets.map((target) => ({ target, peers: [...(peersOf?.(target) ?? [])] })),
  };
}

interface Offering {
  readonly client: Pick<ObjectWriter, 'apply' | 'patch' | 'delete'>;
  readonly clock: Clock;
  readonly choices: Choices;
  readonly say: (text: string) => void;
}

/** Keeps the object of the chaos service until `stop`, and removes it then. Failures are said, and the next heartbeat tries again. */
export async function offerService({ client, clock, choices, say }: Offering, stop: AbortSignal): Promise<void> {
  const offer = offerOf(choices);
  let isWhole = false;
  const beat = async (): Promise<void> => {
    const signal = AbortSignal.timeout(WRITE_MS);
    const heartbeat = { heartbeatTime: formatTime(clock.now()) };
    if (!isWhole) {
      const { group, version, kind } = CHAOS_SERVICES;
      const object = { apiVersion: `${group}/${version}`, kind, metadata: { name: KEY.name }, spec: {} };
      await client.apply(CHAOS_SERVICES, object, {}, signal);
    }
    const status = isWhole ? heartbeat : { ...offer, ...heartbeat };
    await client.patch(CHAOS_SERVICES, KEY, { merge: { status }, subresource: 'status' }, signal);
    isWhole = true;
  };
  while (!stop.aborted) {
    await beat().catch((error: unknown) => {
      // It may have been deleted.
      isWhole = false;
      say(`heartbeat: ${errorMessage(error)}`);
    });
    await pause(clock, HEARTBEAT_MS, stop);
  }
  await ignoreNotFound(client.delete(CHAOS_SERVICES, KEY, {}, AbortSignal.timeout(WRITE_MS)));
}

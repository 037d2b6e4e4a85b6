import type { EtcdEvent } from './artifacts.ts';
import { World } from './history/world.ts';
import { noStaleWrites } from './invariants/i02-no-stale-writes.ts';
import { Findings, type InvariantVerdict } from './verdict.ts';

/** I2 on events of etcd in memory, oldest first. `terms` has the epochs of the election keys before the first event. */
export function checkFences(events: readonly EtcdEvent[], terms: ReadonlyMap<string, number>): InvariantVerdict {
  const world = new World({ clusterId: '', incarnation: '', options: {} });
  const source = { file: 'events', line: 0 };
  for (const [key, epoch] of terms) world.terms.set(key, { epoch, holder: '', atMs: 0, source });
  const findings = new Findings();
  const observer = noStaleWrites.observe(world, findings);
  for (const group of revisionsOf(events)) {
    const revision = group[0]?.modRevision ?? 0;
    for (const change of world.applyRevision(revision, 0, group, source).changes) observer.change?.(change);
  }
  return findings.verdict(noStaleWrites.id, noStaleWrites.title, noStaleWrites.unit, undefined);
}

function revisionsOf(events: readonly EtcdEvent[]): Iterable<readonly EtcdEvent[]> {
  return Map.groupBy(events, ({ modRevision }) => modRevision).values();
}

import type { FaultLine } from '../artifacts.ts';
import type { Source } from '../read-artifacts.ts';
import type { World } from '../history/world.ts';
import { isStruck } from './struck.ts';
import { boundsOf, type Invariant } from './invariant.ts';

/** Faults of these targets keep any process from being elected. */
const ELECTORATE = /etcd|apiserver|cluster|all/;
/** Kinds of faults under which a leader cannot stay one, if they last. */
const DISABLING = /^(kill|down|pause|terminate|stop|black-hole|partition)$/;

/**
 * I6 (docs/operating.md). A new term begins within the bound after the old one ended, and after a fault that struck its leader, whether
 * it was killed, paused, cut off or stopped. Gaps during which a fault acted on etcd, the API servers or the whole cluster are left out.
 * From etcd's history and the faults.
 */
export const takeoverInTime: Invariant = {
  id: 'I6',
  title: 'A lost leader is replaced in time',
  unit: 'takeovers',
  needs: ['etcd'],
  observe(world, findings) {
    const { takeoverMs } = boundsOf(world);
    const vacant = new Map<string, { atMs: number; source: Source; excused: boolean }>();
    const struck = new Map<string, { key: string; epoch: number; atMs: number; source: Source }>();
    const decide = (key: string, atMs: number, source?: Source) => {
      const since = vacant.get(key);
      vacant.delete(key);
      if (since === undefined || since.excused) return;
      findings.checked();
      const gapMs = atMs - since.atMs;
      if (gapMs > takeoverMs) findings.violation(atMs, `${key}: nobody led for ${gapMs} ms`, since.source, source);
    };
    const disturbed = () => [...world.faults.values()].some(({ target }) => ELECTORATE.test(target));
    return {
      key({ key, value, atMs, source }) {
        if (!key.startsWith('/gantry/elections/')) return;
        if (value === undefined) vacant.set(key, { atMs, source, excused: disturbed() });
        else decide(key, atMs, source);
      },
      fault(line, source) {
        const { id, target, kind, phase, atMs } = line;
        if (phase === 'start') {
          if (ELECTORATE.test(target)) for (const since of vacant.values()) since.excused = true;
          for (const [key, { holder, epoch }] of world.terms) {
            if (DISABLING.test(kind) && struckLeader(world, line, holder)) struck.set(id, { key, epoch, atMs, source });
          }
        }
        const before = struck.get(id);
        if (phase === 'start' || before === undefined) return;
        struck.delete(id);
        const term = world.terms.get(before.key);
        const gapMs = (term === undefined || term.epoch === before.epoch ? atMs : term.atMs) - before.atMs;
        if (disturbed() || (term?.epoch === before.epoch && gapMs <= takeoverMs)) return;
        findings.checked();
        if (gapMs <= takeoverMs) return;
        findings.violation(
          atMs,
          `${before.key}: no new term ${gapMs} ms after ${kind} of ${target}`,
          before.source,
          source,
        );
      },
      finish() {
        for (const key of vacant.keys()) decide(key, world.nowMs);
      },
    };
  },
};

/** Whether a fault struck the container of a holder, `<short container id>_<uuid>`. */
function struckLeader(world: World, fault: FaultLine, holder: string): boolean {
  const id = holder.split('_')[0] ?? '';
  return id !== '' && [...world.containers.values()].some((one) => one.id.startsWith(id) && isStruck(fault, one.name));
}

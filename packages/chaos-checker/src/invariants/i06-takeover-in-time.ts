import type { FaultLine } from '../artifacts.ts';
import type { Source } from '../read-artifacts.ts';
import type { World } from '../history/world.ts';
import { isStruck } from './struck.ts';
import { boundsOf, type Invariant } from './invariant.ts';

const ELECTIONS = '/gantry/elections/';
/** Faults of these targets keep any process from being elected. */
const ELECTORATE = /^(?:etcd|apiserver|cluster|all)(?!\w)/;
/** Kinds of faults under which a leader cannot stay one, if they last. */
const DISABLING = /^(kill|down|pause|terminate|black-hole)$/;
/** Kinds that do that if they are between the leader and all members of etcd, or all API servers. */
const CUTTING = /^(cut|cut-requests|cut-responses)$/;

/**
 * I6 (docs/operating.md). A new term begins within the bound after the old one ended, and after a fault that struck its leader, whether
 * it was killed, paused, cut off or stopped. Gaps during which a fault acted on etcd, the API servers or the whole cluster are left out, and
 * those during which another process than the last leader was cut off from etcd. From etcd's history and the faults.
 */
export const takeoverInTime: Invariant = {
  id: 'I6',
  title: 'A lost leader is replaced in time',
  unit: 'takeovers',
  needs: ['etcd'],
  observe(world, findings) {
    const { takeoverMs, resignMs } = boundsOf(world);
    const vacant = new Map<string, { atMs: number; source: Source; excused: boolean }>();
    const struck = new Map<string, { key: string; epoch: number; atMs: number; source: Source; boundMs: number }>();
    /** Of the present term, or the last one. */
    const holders = new Map<string, string>();
    const decide = (key: string, atMs: number, source?: Source) => {
      const since = vacant.get(key);
      vacant.delete(key);
      if (since === undefined || since.excused) return;
      findings.checked();
      const gapMs = atMs - since.atMs;
      if (gapMs > takeoverMs) findings.violation(atMs, `${key}: nobody led for ${gapMs} ms`, since.source, source);
    };
    const disturbs = (fault: FaultLine, key: string) => {
      const [family = ''] = fault.target.split('/');
      if (ELECTORATE.test(fault.target)) return true;
      const isCut = peerOf(fault)?.startsWith('etcd') === true && key.endsWith(family);
      return isCut && !struckLeader(world, fault, holders.get(key) ?? '');
    };
    const disturbed = (key: string) => [...world.faults.values()].some((fault) => disturbs(fault, key));
    return {
      begin() {
        for (const [key, { holder }] of world.terms) holders.set(key, holder);
      },
      key({ key, value, atMs, source }) {
        if (!key.startsWith(ELECTIONS)) return;
        if (value !== undefined) {
          holders.set(key, value.toString());
          decide(key, atMs, source);
        } else vacant.set(key, { atMs, source, excused: disturbed(key) });
      },
      fault(line, source) {
        const { id, target, kind, phase, atMs } = line;
        if (phase === 'start') {
          for (const [key, since] of vacant) since.excused ||= disturbs(line, key);
          const boundMs = isCutFromApi(line) ? takeoverMs + resignMs : takeoverMs;
          for (const [key, { holder, epoch }] of world.terms) {
            if (isDisabling(line) && struckLeader(world, line, holder))
              struck.set(id, { key, epoch, atMs, source, boundMs });
          }
        }
        const before = struck.get(id);
        if (phase === 'start' || before === undefined) return;
        struck.delete(id);
        const term = world.terms.get(before.key);
        const gapMs = (term === undefined || term.epoch === before.epoch ? atMs : term.atMs) - before.atMs;
        if (disturbed(before.key) || (term?.epoch === before.epoch && gapMs <= before.boundMs)) return;
        findings.checked();
        if (gapMs <= before.boundMs) return;
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

/** The other side of a fault of the network, whose target is `scheduler/leader etcd`. */
const peerOf = ({ target }: FaultLine): string | undefined => target.split(' ')[1];

const isCutFromApi = (fault: FaultLine) => CUTTING.test(fault.kind) && peerOf(fault) === 'apiserver';

function isDisabling(fault: FaultLine): boolean {
  return DISABLING.test(fault.kind) || isCutFromApi(fault) || (CUTTING.test(fault.kind) && peerOf(fault) === 'etcd');
}

/** Whether a fault struck the container of a holder, `<short container id>_<uuid>`. */
function struckLeader(world: World, fault: FaultLine, holder: string): boolean {
  const id = holder.split('_')[0] ?? '';
  return id !== '' && [...world.containers.values()].some((one) => one.id.startsWith(id) && isStruck(fault, one.name));
}

import type { Source } from '../read-artifacts.ts';
import type { Invariant } from './invariant.ts';

/** A scrape that took longer may have been answered by a process that was stopped in between, from values of before. */
const MAX_SCRAPE_MS = 500;
const MASTER = 'leader_election_master_status';
const ELECTIONS = '/gantry/elections/';

/**
 * I4 (Jepsen etcd 3.4.3: locks). At most one process believes that it leads. Of Gantry's services: a scrape that was sent after a newer
 * term had begun must not be answered with `leader_election_master_status` 1 by another process than its holder, nor by any while a term
 * has ended and no newer one has begun. Of the user's own electors: their terms, by their own records, do not overlap; a process that is
 * frozen leads nothing. From metrics, clients and etcd's history.
 */
export const oneBelievesToLead: Invariant = {
  id: 'I4',
  title: 'At most one process believes that it leads',
  unit: 'scrapes and terms',
  needs: ['etcd'],
  observe(world, findings) {
    /** Elections without a leader, since when. */
    const vacant = new Map<string, { atMs: number; source: Source }>();
    const leading = new Map<string, Map<string, { atMs: number; source: Source }>>();
    return {
      key({ key, value, atMs, source }) {
        if (!key.startsWith(ELECTIONS)) return;
        if (value === undefined) vacant.set(key, { atMs, source });
        else vacant.delete(key);
      },
      metric({ name, labels, value, sentMs, atMs, tookMs = atMs - sentMs, instance }, source) {
        if (name !== MASTER || value !== 1) return;
        const key = `${ELECTIONS}${labels['name']}`;
        const [term, ended] = [world.terms.get(key), vacant.get(key)];
        if (tookMs > MAX_SCRAPE_MS || ((term ?? ended)?.atMs ?? Infinity) >= sentMs) return;
        if (term === undefined) {
          findings.checked();
          const what = `${instance} says that it leads ${labels['name']}, whose last term has ended`;
          findings.violation(atMs, what, ...(ended === undefined ? [] : [ended.source]), source);
          return;
        }
        const holder = holderContainer(term.holder);
        if (holder === undefined) return;
        findings.checked();
        if (instance !== holder) {
          const what = `${instance} says that it leads ${labels['name']}, while epoch ${term.epoch} of ${term.holder} holds`;
          findings.violation(atMs, what, term.source, source);
        }
      },
      client(line, source) {
        if (!('observe' in line) || (line.observe !== 'leads' && line.observe !== 'leads-not')) return;
        const holders = leading.get(line.key) ?? new Map<string, { atMs: number; source: Source }>();
        leading.set(line.key, holders);
        if (line.observe === 'leads-not') {
          holders.delete(line.value);
          return;
        }
        findings.checked();
        for (const [other, since] of holders) {
          if (other === line.value) continue;
          findings.violation(line.atMs, `${line.key}: ${line.value} leads while ${other} does`, since.source, source);
        }
        holders.set(line.value, { atMs: line.atMs, source });
      },
    };

    /** The name of the container that a holder `<short container id>_<uuid>` runs in. */
    function holderContainer(holder: string): string | undefined {
      const id = holder.split('_')[0] ?? '';
      if (id === '') return undefined;
      for (const { id: full, name } of world.containers.values()) if (full.startsWith(id)) return name;
      return undefined;
    }
  },
};

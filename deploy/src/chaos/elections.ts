import type { EtcdEvent } from '@gantry/chaos-checker';

/** Who leads a component since which revision of etcd, by the key of its election. */
export interface Election {
  readonly component: string;
  /** The create revision of the key. */
  readonly epoch: number;
  /** Empty without a leader. */
  readonly holder: string;
}

const PREFIX = '/gantry/elections/';

/** The election that an event of etcd reports, if it does. */
export function electionOf(event: EtcdEvent): readonly Election[] {
  if (!event.key.startsWith(PREFIX)) return [];
  const component = event.key.slice(PREFIX.length);
  if (event.type === 'delete') return [{ component, epoch: event.modRevision, holder: '' }];
  return [{ component, epoch: event.createRevision, holder: Buffer.from(event.value, 'base64').toString() }];
}

/** The newest elections. Several members of etcd report each event, and not at the same time. */
export class Leaders {
  readonly #newest = new Map<string, Election>();

  /** Whether it is news. */
  add(election: Election): boolean {
    const known = this.#newest.get(election.component);
    const isNews = known === undefined || election.epoch > known.epoch;
    if (isNews) this.#newest.set(election.component, election);
    return isNews;
  }

  get all(): readonly Election[] {
    return [...this.#newest.values()].toSorted((one, other) => one.component.localeCompare(other.component));
  }
}

/** Sets of clients with affinity begin with it. */
export const CLIENTS = 'clients-';

/** Clients of each set, in nft's language: with the time until they are forgotten. */
export type KeptClients = ReadonlyMap<string, readonly string[]>;

const CLIENT = /(\d+\.\d+\.\d+\.\d+) (?:timeout \S+ )?expires ([0-9a-z]+)/g;
/** Elements of one command, as in a transaction's other commands. */
const CLIENTS_PER_COMMAND = 500;

/** The clients with affinity of one table, in what `nft list sets` prints of all tables. */
export function readClients(listing: string, table: string): KeptClients {
  const found = new Map<string, string[]>();
  let isOurs = false;
  let clients: string[] | undefined;
  for (const line of listing.split('\n')) {
    if (line.startsWith('table ')) isOurs = line === `table ip ${table} {`;
    const [, set] = /^\tset (\S+) \{$/.exec(line) ?? [];
    if (set !== undefined) {
      clients = isOurs && set.startsWith(CLIENTS) ? [] : undefined;
      if (clients !== undefined) found.set(set, clients);
    }
    if (clients === undefined) continue;
    for (const [, address, expires] of line.matchAll(CLIENT)) clients.push(`${address} expires ${expires}`);
  }
  return found;
}

/** Commands that give the sets of a new table their clients back; sets that it does not have are left out. */
export function formatClients(table: string, clients: KeptClients, sets: ReadonlyMap<string, string>): string {
  const commands: string[] = [];
  for (const [set, elements] of clients) {
    if (!sets.has(set)) continue;
    for (let start = 0; start < elements.length; start += CLIENTS_PER_COMMAND) {
      const part = elements.slice(start, start + CLIENTS_PER_COMMAND).join(', ');
      commands.push(`add element ip ${table} ${set} { ${part} }\n`);
    }
  }
  return commands.join('');
}

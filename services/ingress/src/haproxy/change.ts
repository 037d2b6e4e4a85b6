import type { RunFiles } from './configuration.ts';
import { type ProxyState, type Server, serverArguments } from './proxy-state.ts';

/** The path of a server in a backend, such as `b3/10.128.4.7_8080_http`. */
export type ServerPath = string;

/** The commands that bring a running HAProxy from one state to another, except for certificates. They are run in the listed order. */
export interface Change {
  /** Servers are added before the routes that lead to them, and removed after these. */
  readonly arriving: readonly string[];
  readonly maps: readonly MapChange[];
  readonly departing: readonly string[];
  /** Servers that get no more requests. They can be removed when they have no connection. */
  readonly leaving: readonly ServerPath[];
  /** Servers that were leaving and are used again. */
  readonly returning: readonly ServerPath[];
}

/** A change of one map: either some of its routes, or all of them at once, which is faster than many single changes. */
export type MapChange =
  | { readonly kind: 'commands'; readonly commands: readonly string[] }
  | { readonly kind: 'replacement'; readonly file: string; readonly payloads: readonly string[] };

/** Plans the commands of a change. `leaving` contains the servers that an earlier change has disabled and that still exist. */
export function planChange(
  from: ProxyState,
  to: ProxyState,
  leaving: ReadonlySet<ServerPath>,
  files: Pick<RunFiles, 'exact' | 'prefix'>,
): Change {
  const added = differences(to, from);
  const removed = differences(from, to).map(([path]) => path);
  return {
    arriving: added.flatMap(([path, server]) => [
      ...(leaving.has(path) ? [] : [`add server ${path} ${serverArguments(server)}`]),
      `enable server ${path}`,
    ]),
    maps: [mapChange(files.exact, from.exact, to.exact), mapChange(files.prefix, from.prefix, to.prefix)],
    departing: removed.map((path) => `disable server ${path}`),
    leaving: removed,
    returning: added.map(([path]) => path).filter((path) => leaving.has(path)),
  };
}

/** Returns the servers of `one` that `other` does not have. */
function differences(one: ProxyState, other: ProxyState): readonly (readonly [ServerPath, Server])[] {
  const found: (readonly [ServerPath, Server])[] = [];
  for (const [backend, servers] of one.servers) {
    const others = other.servers.get(backend);
    if (others === servers) continue;
    for (const [name, server] of servers) if (others?.has(name) !== true) found.push([`${backend}/${name}`, server]);
  }
  return found;
}

/** The maximum number of single commands. Each takes some milliseconds. */
const MAX_SINGLE = 64;

function mapChange(file: string, from: ReadonlyMap<string, string>, to: ReadonlyMap<string, string>): MapChange {
  if (from === to) return { kind: 'commands', commands: [] };
  const commands: string[] = [];
  for (const [key, backend] of to) {
    const before = from.get(key);
    if (before === backend) continue;
    commands.push(`${before === undefined ? 'add' : 'set'} map ${file} ${quoted(key)} ${backend}`);
  }
  for (const key of from.keys()) if (!to.has(key)) commands.push(`del map ${file} ${quoted(key)}`);
  if (commands.length <= Math.max(MAX_SINGLE, to.size / 16)) return { kind: 'commands', commands };
  return {
    kind: 'replacement',
    file,
    payloads: chunks(
      [...to].map(([key, backend]) => `${key} ${backend}`),
      '\n',
      MAX_PAYLOAD,
    ),
  };
}

/** Returns a key as one word of a command. Of the characters that a path may have, only the semicolon has a meaning there. */
function quoted(key: string): string {
  return key.replaceAll(/[;\\]/g, '\\$&');
}

/** The maximum sizes in bytes of a line of the socket, and of a command's payload. */
const MAX_LINE = 8000;
const MAX_PAYLOAD = 24_000;

/** Formats commands as lines of the socket. */
export function formatLines(commands: readonly string[]): readonly string[] {
  return chunks(commands, ';', MAX_LINE);
}

function chunks(parts: readonly string[], separator: string, maxLength: number): readonly string[] {
  const found: string[] = [];
  let chunk: string[] = [];
  let length = 0;
  for (const part of parts) {
    if (length > 0 && length + part.length >= maxLength) {
      found.push(chunk.join(separator));
      chunk = [];
      length = 0;
    }
    chunk.push(part);
    length += part.length + separator.length;
  }
  return length === 0 ? found : [...found, chunk.join(separator)];
}

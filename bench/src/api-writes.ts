import { docker, type ServiceContainer } from './processes.ts';

/** Writes by verb and resource. */
export type Writes = ReadonlyMap<string, number>;

const READ = "fetch('http://127.0.0.1:10255/metrics').then((r) => r.text()).then((t) => process.stdout.write(t))";
const WRITING: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'apply', 'delete', 'deletecollection']);

/** What an API server has been asked to write until now. */
export function apiWrites({ id }: ServiceContainer): Writes {
  return parseWrites(docker('exec', id, 'node', '-e', READ));
}

/** Reads the counter of requests out of Prometheus' text form. */
export function parseWrites(text: string): Writes {
  const writes = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const verb = label('verb').toLowerCase();
    if (!WRITING.has(verb) && !['post', 'put'].includes(verb)) continue;
    const subresource = label('subresource');
    const name = `${verb} ${label('resource')}${subresource === '' ? '' : `/${subresource}`}`;
    writes.set(name, (writes.get(name) ?? 0) + Number(value));
  }
  return writes;
}

/** What several API servers have written between two looks. */
export function addWrites(after: readonly Writes[], before: readonly Writes[]): Writes {
  const sum = new Map<string, number>();
  for (const writes of after) for (const [name, count] of writes) sum.set(name, (sum.get(name) ?? 0) + count);
  for (const writes of before) for (const [name, count] of writes) sum.set(name, (sum.get(name) ?? 0) - count);
  return sum;
}

import type { Owner } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { EndpointReply } from './endpoint.ts';

const LOG = { follow: false, timestamps: true };

/**
 * What `/logs/` shows: the folder `/var/log` of a node as far as the kubelet fills it, with the logs of pods at
 * `pods/<namespace>_<name>_<uid>/<container>/<attempt>.log`. The engine keeps them; there are no such files. Undefined where nothing is.
 */
export async function readLogFolder(
  runtime: Runtime,
  owner: Owner,
  path: readonly string[],
  signal: AbortSignal,
): Promise<EndpointReply | undefined> {
  const [top = '', folder = '', name = '', file = '', ...more] = path;
  if (top === '') return listing(['pods/']);
  if (top !== 'pods' || more.length > 0) return undefined;
  const pods = await runtime.observer.listPods(owner, signal);
  if (folder === '') return listing(pods.map((pod) => `${folderOf(pod)}/`));
  const containers = pods.find((one) => folderOf(one) === folder)?.containers;
  if (containers === undefined) return undefined;
  if (name === '') return listing([...new Set(containers.map((one) => `${one.name}/`))]);
  const attempts = containers.filter((one) => one.name === name);
  if (attempts.length === 0) return undefined;
  if (file === '') return listing(attempts.map(({ attempt }) => `${attempt}.log`));
  const found = attempts.find(({ attempt }) => file === `${attempt}.log`);
  if (found === undefined) return undefined;
  const body = runtime.logs.readLogs(found.id, LOG, signal);
  return { code: 200, contentType: 'text/plain; charset=utf-8', body };
}

function folderOf({ identity: { namespace, name, uid } }: PodState): string {
  return `${namespace}_${name}_${uid}`;
}

/** The form of Go's file server, which tools read. Names have no characters that HTML would change. */
function listing(names: readonly string[]): EndpointReply {
  const lines = names.toSorted().map((name) => `<a href="${name}">${name}</a>\n`);
  return {
    code: 200,
    contentType: 'text/html; charset=utf-8',
    body: `<!doctype html>\n<pre>\n${lines.join('')}</pre>\n`,
  };
}

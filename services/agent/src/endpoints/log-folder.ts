import type { Owner } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { EndpointReply } from './endpoint.ts';

const LOG = { follow: false, timestamps: true };

/**
 * The content of `/logs/`: a node's folder `/var/log` as far as the kubelet fills it, with the logs of pods at
 * `pods/<namespace>_<name>_<uid>/<container>/<attempt>.log`. These files do not exist; the logs come from the engine. Undefined for other
 * paths.
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

/** The HTML form of Go's file server, which tools parse. The names contain no characters that need escaping. */
function listing(names: readonly string[]): EndpointReply {
  const lines = names.toSorted().map((name) => `<a href="${name}">${name}</a>\n`);
  return {
    code: 200,
    contentType: 'text/html; charset=utf-8',
    body: `<!doctype html>\n<pre>\n${lines.join('')}</pre>\n`,
  };
}

import type { VolumeMount } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { expandAll } from '../spec/expand.ts';

/**
 * The path inside its volume that a mount shows, '' for the whole volume. AgentError 'CreateContainerConfigError' with kubelet's
 * message for an absolute path, for `..`, and for a variable of `subPathExpr` that is missing or empty.
 */
export function subPathOf(mount: VolumeMount, environment: ReadonlyMap<string, string>): string {
  const subPath = mount.subPathExpr === undefined ? (mount.subPath ?? '') : expanded(mount.subPathExpr, environment);
  if (subPath.startsWith('/')) throw refused(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw refused(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  if (subPath.includes('\0')) throw refused('error SubPath must not contain a zero byte');
  return subPath;
}

function expanded(expression: string, environment: ReadonlyMap<string, string>): string {
  const { text, missing } = expandAll(expression, environment);
  if (missing.length === 0) return text;
  throw refused(`missing value for ${missing.map((name) => JSON.stringify(name)).join(', ')}`);
}

function refused(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}

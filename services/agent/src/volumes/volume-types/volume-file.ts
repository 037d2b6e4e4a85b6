import type { KeyToPath } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import type { VolumeFile } from './atomic-folder.ts';

/** Mode of files where neither volume nor item has one. */
export const DEFAULT_MODE = 0o644;

/** A reference to an object whose keys become files. */
export interface KeysReference {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
}

/** The object of a reference, if it exists. AgentError 'FailedMount' when it is missing and not optional. */
export function referenced<T>(
  kind: string,
  { name = '', optional }: KeysReference,
  found: T | undefined,
): T | undefined {
  if (found !== undefined || optional === true) return found;
  throw new AgentError('FailedMount', `${kind} "${name}" not found`);
}

/** The files of an object's keys: all of them, or those that `items` selects. `missing` begins the message for an absent key. */
export function keyFiles(
  data: ReadonlyMap<string, Buffer>,
  { items, optional }: KeysReference,
  mode: number,
  missing: string,
): readonly VolumeFile[] {
  if (items === undefined) return [...data].map(([path, content]) => ({ path: checkedPath(path), content, mode }));
  return items.flatMap((item) => {
    const content = data.get(item.key);
    if (content === undefined && optional !== true) throw new AgentError('FailedMount', `${missing}: ${item.key}`);
    return content === undefined ? [] : [{ path: checkedPath(item.path), content, mode: item.mode ?? mode }];
  });
}

/** `path`, or AgentError 'FailedMount' when it could leave its volume. */
export function checkedPath(path: string): string {
  const parts = path.split('/');
  if (
    path === '' ||
    path.startsWith('/') ||
    parts.some((part) => part === '..' || part === '.' || part === '') ||
    path.startsWith('..')
  ) {
    throw new AgentError('FailedMount', `invalid path ${JSON.stringify(path)} in a volume`);
  }
  return path;
}

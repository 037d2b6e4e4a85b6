import { type ObjectMeta, StatusError } from '@gantry/objects';
import type { AdmissionRequest } from './admission-check.ts';

/** The answer of a check that says no: `pods "p" is forbidden: <why>`. What has no name yet is told by what that begins with. */
export function refuse(request: AdmissionRequest, why: string): StatusError {
  const { group, resource } = request.definition;
  return StatusError.forbidden({ group, resource }, shownName(request), why);
}

/** What answers call the object. */
export function shownName({ name, object }: Pick<AdmissionRequest, 'name' | 'object'>): string {
  const metadata = object.metadata as ObjectMeta | undefined;
  return [name, metadata?.name ?? '', metadata?.generateName ?? ''].find((text) => text !== '') ?? 'Unknown';
}

/** Several complaints as one text: alone as it is, else each once in brackets. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

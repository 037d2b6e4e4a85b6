import { type ObjectMeta, StatusError } from '@gantry/objects';
import type { AdmissionRequest } from './admission-check.ts';

/** The answer of a check that says no: `pods "p" is forbidden: <why>`. What has no name yet is told by what that begins with. */
export function refuse(request: AdmissionRequest, why: string): StatusError {
  const { group, resource } = request.definition;
  return StatusError.forbidden({ group, resource }, shownName(request), why);
}

/** What of a generated name a prefix may take. */
const MAX_PREFIX = 58;
const SUFFIX = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/;

/**
 * As `refuse`, for a check that comes before names are generated. Controllers here choose a generated name themselves, so that the
 * outcome of a create whose response was lost can be read; Kubernetes' controllers leave it to the server, and answers call the object by
 * the prefix: alike for all pods of a set, so that one Event counts them.
 */
export function refuseBeforeNaming(request: AdmissionRequest, why: string): StatusError {
  const { group, resource } = request.definition;
  const { name = '', generateName = '' } = (request.object.metadata as ObjectMeta | undefined) ?? {};
  const prefix = generateName.slice(0, MAX_PREFIX);
  const isGenerated = prefix !== '' && name.startsWith(prefix) && SUFFIX.test(name.slice(prefix.length));
  return StatusError.forbidden({ group, resource }, isGenerated ? generateName : shownName(request), why);
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

import { type ObjectMeta, StatusError } from '@gantry/objects';
import type { AdmissionRequest } from './admission-check.ts';

/** The error of a check that denies a request: `pods "p" is forbidden: <why>`. Uses generateName for an object without a name. */
export function refuse(request: AdmissionRequest, why: string): StatusError {
  const { group, resource } = request.definition;
  return StatusError.forbidden({ group, resource }, shownName(request), why);
}

/** Maximum length of the prefix of a generated name. */
const MAX_PREFIX = 58;
const SUFFIX = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/;

/**
 * Like `refuse`, for a check that runs before names are generated. The message has generateName instead of the name, so that it is the same
 * for all pods of a set and one Event counts them. In Kubernetes such objects have no name yet. Gantry's controllers choose the generated
 * name themselves, so that they can look up the object after a lost response.
 */
export function refuseBeforeNaming(request: AdmissionRequest, why: string): StatusError {
  const { group, resource } = request.definition;
  const { name = '', generateName = '' } = (request.object.metadata as ObjectMeta | undefined) ?? {};
  const prefix = generateName.slice(0, MAX_PREFIX);
  const isGenerated = prefix !== '' && name.startsWith(prefix) && SUFFIX.test(name.slice(prefix.length));
  return StatusError.forbidden({ group, resource }, isGenerated ? generateName : shownName(request), why);
}

/** The name of the object in messages. */
export function shownName({ name, object }: Pick<AdmissionRequest, 'name' | 'object'>): string {
  const metadata = object.metadata as ObjectMeta | undefined;
  return [name, metadata?.name ?? '', metadata?.generateName ?? ''].find((text) => text !== '') ?? 'Unknown';
}

/** Joins messages to one text: a single one as it is, several in brackets without duplicates. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

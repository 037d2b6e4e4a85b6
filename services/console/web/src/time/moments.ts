import type { HistoryReport } from '../control-plane/reports.ts';

/** A moment of the history that all views can show. */
export interface Moment {
  readonly resourceVersion: string;
  /** Unix milliseconds; undefined when the server does not know. */
  readonly at: number | undefined;
}

/** The moments that a slider stops at, the oldest first. */
export function momentsOf({ oldest, marks }: Pick<HistoryReport, 'oldest' | 'marks'>): readonly Moment[] {
  const known = marks.map(({ resourceVersion, at }) => ({ resourceVersion, at: Date.parse(at) }));
  const first = { resourceVersion: oldest.resourceVersion, at: oldest.at === null ? undefined : Date.parse(oldest.at) };
  return known[0]?.resourceVersion === first.resourceVersion ? known : [first, ...known];
}

/** The index of the first moment at a version or after it. The last one for a later version, and for a text of the URL that is no version. */
export function indexOf(moments: readonly Moment[], version: string): number {
  const wanted = /^\d{1,20}$/.test(version) ? BigInt(version) : undefined;
  const index = moments.findIndex(({ resourceVersion }) => wanted !== undefined && BigInt(resourceVersion) >= wanted);
  return index < 0 ? moments.length - 1 : index;
}

/** The time of day of a moment; its version if the server does not know the time. */
export function timeOf({ at, resourceVersion }: Moment): string {
  return at === undefined ? `version ${resourceVersion}` : new Date(at).toLocaleTimeString();
}

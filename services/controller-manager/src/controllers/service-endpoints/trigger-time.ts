import type { Pod, Service } from '@gantry/objects';

/** What was seen of a Service and its pods when its endpoints were last planned: RFC 3339 times of seconds. */
export interface SeenTimes {
  readonly service: string;
  /** By pod. */
  readonly pods: ReadonlyMap<string, string>;
}

/** The times to remember, and the earliest that is newer than `before`; that of the Service's creation at first. */
export function triggerTime(
  before: SeenTimes | undefined,
  service: Service,
  pods: readonly Pod[],
): { readonly seen: SeenTimes; readonly time: string | undefined } {
  const created = service.metadata.creationTimestamp ?? '';
  const times = new Map<string, string>();
  let earliest: string | undefined;
  const note = (time: string, old: string): void => {
    if (time > old && (earliest === undefined || time < earliest)) earliest = time;
  };
  for (const { metadata, status } of pods) {
    const time = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
    if (time === '') continue;
    const { name = '' } = metadata;
    times.set(name, time);
    note(time, before?.pods.get(name) ?? '');
  }
  note(created, before?.service ?? '');
  const time = before === undefined ? created : (earliest ?? '');
  return { seen: { service: created, pods: times }, time: time === '' ? undefined : time };
}

import type { Event } from '@gantry/objects';
import { type ReactNode, useMemo } from 'react';
import { formatAge } from '../shell/ages.ts';
import { useLive, useNow } from '../shell/console-context.ts';
import { Failure } from '../shell/notices.tsx';
import { objectFormat } from '../watch/formats.ts';
import type { TabProps } from './use-object.ts';
import { Table } from '../shell/table.tsx';

const FORMAT = objectFormat((object) => {
  const {
    metadata,
    type = '',
    reason = '',
    message = '',
    count,
    series,
    lastTimestamp,
    eventTime,
    source,
    reportingComponent,
  } = object as Event;
  const last = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
  return {
    uid: metadata.uid ?? '',
    type,
    reason,
    message,
    count: series?.count ?? count ?? 1,
    lastAt: Date.parse(last),
    source: reportingComponent || (source?.component ?? ''),
  };
});

/** What happened to the object, the latest first, live. */
export function EventsTab({ namespace, object }: TabProps): ReactNode {
  const now = useNow();
  const query = useMemo(
    () => ({ fieldSelector: `involvedObject.uid=${object.metadata.uid ?? ''}` }),
    [object.metadata.uid],
  );
  const path = `/api/v1/namespaces/${namespace === '' ? 'default' : namespace}/events`;
  const events = useLive({ path, query, format: FORMAT });
  const sorted = useMemo(() => [...events.rows.values()].sort((a, b) => b.lastAt - a.lastAt), [events]);
  if (events.error !== undefined && events.rows.size === 0) return <Failure error={events.error} what="the events" />;
  if (sorted.length === 0) return <p className="empty">No events. The cluster forgets them after an hour.</p>;
  return (
    <Table label="Events" of={['Last seen', 'Type', 'Reason', 'Message', 'From']}>
      {sorted.map(({ uid, type, reason, message, count, lastAt, source }) => (
        <tr key={uid}>
          <td>
            {formatAge(now - lastAt)}
            {count > 1 ? <span className="muted"> ×{count}</span> : null}
          </td>
          <td data-tone={type === 'Warning' ? 'bad' : 'none'}>{type}</td>
          <td>{reason}</td>
          <td className="prose">{message}</td>
          <td className="muted">{source}</td>
        </tr>
      ))}
    </Table>
  );
}

import { type ReactNode, useMemo, useState } from 'react';
import { formatAge } from '../shell/ages.ts';
import { useNow } from '../shell/console-context.ts';
import { useFilterKey } from '../shell/filter-key.ts';
import { managedFieldsOf } from './managers.ts';
import type { TabProps } from './use-object.ts';
import { Table } from '../shell/table.tsx';

/** Who set which field last. */
export function FieldsTab({ object }: TabProps): ReactNode {
  const now = useNow();
  const [text, setText] = useState('');
  const field = useFilterKey();
  const fields = useMemo(() => managedFieldsOf(object.metadata.managedFields), [object]);
  const wanted = text.toLowerCase();
  const shown = fields.filter(({ path, manager }) => `${path} ${manager}`.toLowerCase().includes(wanted));
  return (
    <>
      <p className="muted">
        Who wrote each field last. History has what was written before, as far back as etcd holds it.
      </p>
      <div className="filters">
        <input
          ref={field}
          type="search"
          aria-label="Filter fields"
          placeholder="Field or manager  ( / )"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      <Table label="Who wrote which field" of={['Field', 'Manager', 'By', 'Last write']}>
        {shown.map(({ path, manager, operation, subresource, time }) => (
          <tr key={`${path} ${manager} ${operation} ${subresource}`}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td>{manager}</td>
            <td className="muted">
              {operation}
              {subresource === '' ? '' : ` of ${subresource}`}
            </td>
            <td title={time}>{formatAge(now - Date.parse(time))}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

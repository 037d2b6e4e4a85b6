import type { Container, ContainerStatus, Pod } from '@gantry/objects';
import type { ReactNode } from 'react';
import { formatAge } from '../shell/ages.ts';
import { useNow } from '../shell/console-context.ts';
import { Table } from '../shell/table.tsx';

/** The containers of a pod with their state. */
export function Containers({ pod }: { readonly pod: Pod }): ReactNode {
  const now = useNow();
  const { spec, status } = pod;
  const statuses = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  const rows: readonly (readonly [string, Pick<Container, 'name' | 'image'>])[] = [
    ...(spec?.initContainers ?? []).map((container) => ['init', container] as const),
    ...(spec?.containers ?? []).map((container) => ['', container] as const),
    ...(spec?.ephemeralContainers ?? []).map((container) => ['debug', container] as const),
  ];
  return (
    <section>
      <h2>Containers</h2>
      <Table label="Containers" of={['Name', 'Image', 'State', 'Restarts']}>
        {rows.map(([role, { name, image }]) => {
          const found = statuses.find((candidate) => candidate.name === name);
          const { tone, text } = stateOf(found, now);
          return (
            <tr key={name}>
              <th scope="row">
                {name} <span className="muted">{role}</span>
              </th>
              <td>
                <code>{image}</code>
              </td>
              <td data-tone={tone}>{text}</td>
              <td>{found?.restartCount ?? ''}</td>
            </tr>
          );
        })}
      </Table>
    </section>
  );
}

function stateOf(status: ContainerStatus | undefined, now: number): { readonly tone: string; readonly text: string } {
  const { running, waiting, terminated } = status?.state ?? {};
  if (running !== undefined) {
    const since = running.startedAt === undefined ? '' : ` for ${formatAge(now - Date.parse(running.startedAt))}`;
    return status?.ready
      ? { tone: 'good', text: `running${since}` }
      : { tone: 'waiting', text: `running${since}, not ready` };
  }
  if (terminated !== undefined) {
    const { exitCode, reason = '', message = '' } = terminated;
    return { tone: exitCode === 0 ? 'none' : 'bad', text: `ended with ${exitCode} ${reason} ${message}`.trim() };
  }
  const { reason = 'waiting', message = '' } = waiting ?? {};
  return { tone: /BackOff|Err|Invalid|Cannot/.test(reason) ? 'bad' : 'waiting', text: `${reason} ${message}`.trim() };
}

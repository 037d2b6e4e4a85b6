import { StatusError } from '@gantry/objects';
import type { Conflict } from './change-owners.ts';
import type { Manager } from './managers.ts';
import { formatFieldPath } from './path-element.ts';

/** The 409 of an apply that would take fields from others, with a cause for each field. */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describeManager(manager)}`,
    field: formatFieldPath(path),
  }));
  return new StatusError('Conflict', `Apply failed with ${describe(conflicts)}`, { details: { causes } });
}

function describe(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined)
    return `1 conflict: conflict with ${describeManager(first.manager)}: ${formatFieldPath(first.path)}`;
  const lines: string[] = [];
  let last: string | undefined;
  for (const { id, manager, path } of conflicts) {
    if (id !== last) lines.push(`conflicts with ${describeManager(manager)}:`);
    last = id;
    lines.push(`- ${formatFieldPath(path)}`);
  }
  return `${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function describeManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const through = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

import type { RoleRef, Subject } from '../../generated/types.ts';
import type { KubeObject } from '../../object.ts';
import type { Column } from '../../resource.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { subjectNames } from './rbac.ts';

/** The columns of bindings: the role, and who has it. */
export function bindingColumns<T extends KubeObject & { roleRef: RoleRef; subjects?: Subject[] }>(): Column<T>[] {
  const subjects = (name: string, kind: string) =>
    column<T>(name, `${name} that have the role.`, (object) => subjectNames(object, kind), { wide: 'wide' });
  return [
    nameColumn,
    column('Role', 'The role that is given.', ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
    ageColumn,
    subjects('Users', 'User'),
    subjects('Groups', 'Group'),
    subjects('ServiceAccounts', 'ServiceAccount'),
  ];
}
